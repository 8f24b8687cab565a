//! What an operation got with its retrier.

use std::task::Waker;

use crate::decide::Situation;
use crate::observe::Observers;
use crate::retrier::Retrier;
use crate::switch::{Position, Ticket};

/// Allocated when the operation begins, so that one without a retrier is small.
pub(super) struct Handed {
    retrier: Retrier,
    /// The operation waits, and the switch knows.
    ticket: Option<Ticket>,
}

impl Handed {
    pub(super) fn new(retrier: Retrier) -> Self {
        Self { retrier, ticket: None }
    }

    pub(super) fn observers(&self) -> &Observers {
        self.retrier.observers()
    }

    /// What the retrier adds to how the operation is judged.
    pub(super) fn situation(&self, situation: Situation) -> Situation {
        let situation = situation.nesting_limit(self.retrier.nesting_limit());
        match self.retrier.switch().position() {
            Position::On => situation,
            Position::Off => situation.disabled(true),
            Position::ShutDown => situation.shut_down(),
        }
    }

    /// Whether the wait may go on; wakes it when it may not.
    pub(super) fn may_wait(&mut self, waker: &Waker) -> bool {
        self.retrier.switch().watch(&mut self.ticket, waker) == Position::On
    }

    pub(super) fn waited(&mut self) {
        self.retrier.switch().leave(&mut self.ticket);
    }
}

impl Drop for Handed {
    fn drop(&mut self) {
        self.waited();
    }
}
