//! How long a breaker stays open.

use std::time::Duration;

use super::error::BreakerError;
use crate::backoff::{Backoff, Jitter};
use crate::nanos::Nanos;
use crate::policy::Policy;

/// How long a breaker stays open: made from a `Duration` or from a [`Backoff`],
/// as [described](super#open-periods).
#[derive(Clone, Copy, Debug)]
pub struct OpenPeriod(Backoff);

/// At least this long, and up to a tenth longer.
impl From<Duration> for OpenPeriod {
    fn from(open_for: Duration) -> Self {
        let open_for = Nanos::from_duration(open_for).duration();
        let spread = open_for / 10;
        let backoff = Backoff::fixed(open_for).jitter(Jitter::Additive(spread));
        Self(backoff.cap(open_for + spread))
    }
}

/// Its delay after as many attempts as the breaker has opened by itself since
/// it was last closed.
impl From<Backoff> for OpenPeriod {
    fn from(backoff: Backoff) -> Self {
        Self(backoff)
    }
}

impl OpenPeriod {
    pub(super) fn draw(self, streak: u32, unit: u32) -> Duration {
        self.0.draw(streak, unit).delay.duration()
    }

    pub(super) fn validate(self) -> Result<(), BreakerError> {
        if self.0.ceiling(1).is_zero() {
            return Err(BreakerError::NoOpenPeriod);
        }
        // One attempt has no waits: what is judged is the backoff alone.
        let alone = Policy::new(1, Duration::MAX).backoff(self.0);
        alone.validate().map_err(BreakerError::OpenPeriod)
    }
}
