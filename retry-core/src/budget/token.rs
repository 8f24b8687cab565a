//! What one retry takes.

use std::fmt;

use super::Caller;
use crate::nanos::Nanos;

/// The permission for one retry. Made by [`Caller::take`] and by a
/// [`Reservation`](super::Reservation).
///
/// Dropped before it is spent, it is given back.
#[must_use = "dropped, the token is given back: call `spend` when the attempt begins"]
pub struct Token {
    caller: Caller,
    cost: u128,
    granted: Nanos,
    spent: bool,
}

impl Token {
    pub(super) const fn new(caller: Caller, cost: u128, granted: Nanos) -> Self {
        Self { caller, cost, granted, spent: false }
    }

    /// The attempt begins.
    pub fn spend(&mut self) {
        self.spent = true;
    }

    /// The attempt succeeded: gives back what it took, in the schemes that do.
    /// Call it for the last retry of an operation alone.
    pub fn refund(self) {
        if self.spent && self.caller.shared.scheme.refund {
            self.give_back(None);
        }
    }

    fn give_back(&self, not_made: Option<Nanos>) {
        let Caller { shared, slot } = &self.caller;
        shared.open(|book| book.give(shared, slot, self.cost, not_made));
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        if !self.spent {
            self.give_back(Some(self.granted));
        }
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token")
            .field("caller", &self.caller)
            .field("spent", &self.spent)
            .finish_non_exhaustive()
    }
}
