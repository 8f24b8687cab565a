//! Which calls a failure rate is a rate of.

use std::time::Duration;

use super::error::BreakerError;
use crate::nanos::Nanos;

/// The calls whose failure rate is judged, after each outcome that counts.
///
/// ```
/// use std::time::Duration;
/// use retry_core::breaker::Window;
///
/// let last_calls = Window::calls(200).minimum(50);
/// let last_minute = Window::time(Duration::from_secs(60)).minimum(20);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Window {
    pub(super) extent: Extent,
    pub(super) minimum: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    Calls(u32),
    Time(Nanos),
}

impl Window {
    /// How many calls a window of calls can hold.
    pub const MAX_CALLS: u32 = 1_000_000;

    /// How many calls must have been seen, where nothing else is set.
    const MINIMUM: u32 = 100;

    /// The last `calls` calls that counted, 1 to
    /// [`MAX_CALLS`](Self::MAX_CALLS). The minimum is 100 of them, or all where
    /// that is fewer.
    pub const fn calls(calls: u32) -> Self {
        let minimum = if calls < Self::MINIMUM { calls } else { Self::MINIMUM };
        Self { extent: Extent::Calls(calls), minimum }
    }

    /// The calls that counted within the last `span`, kept in 60 slices of it
    /// so that memory is constant: a call counts for more than 59/60 of the
    /// span, and never longer than the span. The minimum is 100 of them.
    ///
    /// Slice i begins i/60 of a span after the first call, and the window is
    /// the current slice and the 59 before it.
    pub const fn time(span: Duration) -> Self {
        Self { extent: Extent::Time(Nanos::from_duration(span)), minimum: Self::MINIMUM }
    }

    /// How many calls must be in the window for their rate to mean something.
    pub const fn minimum(self, calls: u32) -> Self {
        Self { minimum: calls, ..self }
    }

    pub(super) const fn validate(&self) -> Result<(), BreakerError> {
        let minimum = self.minimum;
        match self.extent {
            Extent::Calls(0) => Err(BreakerError::EmptyWindow),
            Extent::Calls(calls) if calls > Self::MAX_CALLS => {
                Err(BreakerError::WindowTooLarge { calls, most: Self::MAX_CALLS })
            }
            Extent::Time(span) if span.is_zero() => Err(BreakerError::EmptyWindow),
            Extent::Calls(calls) if minimum > calls => {
                Err(BreakerError::MinimumAboveWindow { minimum, calls })
            }
            _ if minimum == 0 => Err(BreakerError::NoMinimum),
            _ => Ok(()),
        }
    }
}

/// A share of calls in billionths, so that a rate is judged in integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Share(u32);

impl Share {
    const WHOLE: u32 = 1_000_000_000;

    /// Above 0 and at most 1. Rounded, so that 0.1 is a tenth: the nearest
    /// binary fraction is larger.
    pub(super) fn new(share: f64) -> Result<Self, BreakerError> {
        let billionths = (share * f64::from(Self::WHOLE)).round();
        if share <= 1.0 && billionths >= 1.0 {
            // At most a billion, and a whole number.
            Ok(Self(billionths as u32))
        } else {
            Err(BreakerError::Share { share })
        }
    }

    /// Whether that many of that many calls are this share or more.
    pub(super) fn is_reached(self, failed: u64, calls: u64) -> bool {
        u128::from(failed) * u128::from(Self::WHOLE) >= u128::from(calls) * u128::from(self.0)
    }
}
