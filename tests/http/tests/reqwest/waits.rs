//! A clock that sockets do not move, and waits that nobody sleeps.

use retry_core::clock::VirtualClock;
use retry_core::observe::AttemptFailed;
use retry_core::{Observer, Retrier};

/// Moves the clock over each wait, so that none is slept.
struct SkipWaits(VirtualClock);

impl Observer for SkipWaits {
    fn attempt_failed(&self, event: &AttemptFailed<'_>) {
        self.0.advance(event.delay().unwrap_or_default());
    }
}

/// Sockets wait in real time: the clock moves only by the test's own hand.
pub(crate) fn retrier(clock: &VirtualClock) -> Retrier {
    Retrier::builder().clock(clock.clone()).observer(SkipWaits(clock.clone())).build()
}
