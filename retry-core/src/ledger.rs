//! What a budget is judged on.

use std::time::Duration;

use crate::classify::Failure;
use crate::nanos::Nanos;

/// What the budget of an operation is judged on: attempts started, logical
/// time elapsed, hints received. A fold over the operation's events, so that
/// the same events give the same decisions, in a test and after a restart.
///
/// ```
/// use std::time::Duration;
/// use retry_core::{Failure, Ledger};
///
/// let mut ledger = Ledger::new();
/// ledger.attempt_started();
/// ledger.attempt_failed(Duration::from_millis(80), &Failure::transient());
/// assert_eq!((ledger.attempts(), ledger.elapsed()), (1, Duration::from_millis(80)));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    started: u32,
    /// Of these, those that were never polled.
    released: u32,
    hints: u32,
    elapsed: Nanos,
}

impl Ledger {
    /// The ledger of an operation that has not begun.
    pub const fn new() -> Self {
        Self { started: 0, released: 0, hints: 0, elapsed: Nanos::ZERO }
    }

    pub(crate) const fn of(started: u32, released: u32, hints: u32, elapsed: Nanos) -> Self {
        Self { started, released, hints, elapsed }
    }

    /// An attempt was started. The number saturates, and never falls.
    pub const fn attempt_started(&mut self) {
        self.started = self.started.saturating_add(1);
    }

    /// The running attempt failed when the operation was `elapsed` old.
    pub fn attempt_failed(&mut self, elapsed: Duration, failure: &Failure) {
        self.reached(elapsed);
        if failure.hint().is_some() {
            self.hints = self.hints.saturating_add(1);
        }
    }

    /// The operation is now `elapsed` old. An earlier time changes nothing:
    /// logical time never runs back.
    pub const fn reached(&mut self, elapsed: Duration) {
        self.elapsed = self.elapsed.max(Nanos::from_duration(elapsed));
    }

    /// Attempts that count: started, without those that were given back.
    pub const fn attempts(&self) -> u32 {
        self.started - self.released
    }

    /// The number of the attempt that was started last: its delay is derived from
    /// it.
    pub const fn number(&self) -> u32 {
        self.started
    }

    /// Hints received.
    pub const fn hints(&self) -> u32 {
        self.hints
    }

    /// Time since the start of attempt 1.
    pub const fn elapsed(&self) -> Duration {
        self.elapsed.duration()
    }

    pub(crate) const fn elapsed_nanos(&self) -> Nanos {
        self.elapsed
    }

    /// A ledger that nobody could count up to.
    #[cfg(test)]
    pub(crate) const fn at(attempts: u32, elapsed: Duration) -> Self {
        Self {
            started: attempts,
            released: 0,
            hints: u32::MAX,
            elapsed: Nanos::from_duration(elapsed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_saturate_and_time_never_runs_back() {
        let mut ledger = Ledger::at(u32::MAX, Duration::MAX);
        ledger.attempt_started();
        ledger.attempt_failed(Duration::ZERO, &Failure::transient().after(Duration::ZERO));
        assert_eq!(ledger, Ledger::at(u32::MAX, Duration::MAX));
        assert_eq!(ledger.elapsed().as_nanos(), i64::MAX as u128);
    }
}
