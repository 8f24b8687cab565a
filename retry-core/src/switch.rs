//! Whether the operations of a retrier may retry.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// Shared by the clones of a retrier. Turning it wakes every operation that
/// waits for its next attempt, so that none waits for nothing.
#[derive(Debug, Default)]
pub(crate) struct Switch {
    position: AtomicU8,
    waiting: Mutex<Waiting>,
}

/// The later ones are stronger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Position {
    On,
    /// Each operation makes one attempt.
    Off,
    /// The same, for good.
    ShutDown,
}

#[derive(Debug, Default)]
struct Waiting {
    wakers: HashMap<u64, Waker>,
    tickets: u64,
}

/// The place of an operation that waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticket(u64);

impl Switch {
    pub(crate) fn position(&self) -> Position {
        match self.position.load(Ordering::SeqCst) {
            0 => Position::On,
            1 => Position::Off,
            _ => Position::ShutDown,
        }
    }

    /// Nothing is turned back from `ShutDown`.
    pub(crate) fn turn(&self, to: Position) {
        let shut_down = Position::ShutDown as u8;
        let turn = |from| (from != shut_down).then_some(to as u8);
        let _ = self.position.fetch_update(Ordering::SeqCst, Ordering::SeqCst, turn);
        if to != Position::On {
            let wakers = std::mem::take(&mut self.waiting().wakers);
            // Woken without the lock: a waker may poll at once.
            wakers.into_values().for_each(Waker::wake);
        }
    }

    /// The position, and a wake-up when it is turned off. Ends with
    /// [`leave`](Self::leave).
    pub(crate) fn watch(&self, ticket: &mut Option<Ticket>, waker: &Waker) -> Position {
        let waker = waker.clone();
        let before = {
            let mut waiting = self.waiting();
            let Ticket(number) = *ticket.get_or_insert_with(|| {
                waiting.tickets += 1;
                Ticket(waiting.tickets)
            });
            waiting.wakers.insert(number, waker)
        };
        drop(before);
        // Asked last: one that turns it now finds the waker.
        self.position()
    }

    pub(crate) fn leave(&self, ticket: &mut Option<Ticket>) {
        if let Some(Ticket(number)) = ticket.take() {
            let waker = self.waiting().wakers.remove(&number);
            drop(waker);
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
