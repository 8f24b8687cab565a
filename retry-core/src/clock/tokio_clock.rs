//! tokio's clock, paused or not.

use std::time::Instant;

use super::{Clock, Sleep};

/// tokio's clock: the default where no other is given.
///
/// In a test with `#[tokio::test(start_paused = true)]` it is tokio's paused
/// clock. Waiting needs a runtime with its time driver enabled, as all of
/// tokio's timers do.
#[derive(Clone, Copy, Debug, Default)]
pub struct TokioClock;

impl Clock for TokioClock {
    #[inline]
    fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }

    fn sleep_until(&self, at: Instant) -> Sleep {
        Box::pin(tokio::time::sleep_until(at.into()))
    }
}
