//! What a call needs to know of a closed breaker, in one word.

use super::outcome::Outcome;
use super::ticket::Ticket;
use crate::sync::atomic::{AtomicU64, Ordering};

/// A digest of the state, made after every step of it.
///
/// A call that finds all it needs here happens between the step that made the
/// word and the next one: a closed breaker lets everything through and changes
/// nothing by it, and a success that ends no row of failures changes nothing
/// either. Everything else takes the lock.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Quick(u64);

impl Quick {
    /// Open or half-open.
    pub(super) const GUARDED: Self = Self(0);

    const CLOSED: u64 = 1;
    const CLEAN: u64 = 2;
    const FLAGS: u32 = 2;

    /// Closed; `clean` where a success changes nothing.
    pub(super) const fn of_closed(generation: u32, clean: bool) -> Self {
        let flags = if clean { Self::CLOSED | Self::CLEAN } else { Self::CLOSED };
        Self((generation as u64) << Self::FLAGS | flags)
    }

    /// The generation, where it is closed.
    pub(super) const fn closed(self) -> Option<u32> {
        if self.0 & Self::CLOSED == 0 { None } else { Some((self.0 >> Self::FLAGS) as u32) }
    }

    /// Whether the outcome changes nothing.
    pub(super) fn is_settled_by(self, ticket: Ticket, outcome: Outcome) -> bool {
        let Ticket::Counted { generation } = ticket else { return false };
        match outcome {
            Outcome::Ignored => true,
            // A generation that is over does not come back.
            _ if self.closed() != Some(generation) => true,
            Outcome::Success => self.0 & Self::CLEAN != 0,
            Outcome::Failure => false,
        }
    }
}

/// The word, shared.
pub(super) struct QuickCell(AtomicU64);

impl QuickCell {
    pub(super) fn new(quick: Quick) -> Self {
        Self(AtomicU64::new(quick.0))
    }

    pub(super) fn load(&self) -> Quick {
        Quick(self.0.load(Ordering::Acquire))
    }

    /// Under the lock, so that the words come in the order of the steps. One
    /// that says the same is not written: others read it all the time.
    pub(super) fn publish(&self, quick: Quick) {
        if self.0.load(Ordering::Relaxed) != quick.0 {
            self.0.store(quick.0, Ordering::Release);
        }
    }
}
