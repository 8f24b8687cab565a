//! A time of the calendar, as records keep it.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::nanos::Nanos;

/// A time of the calendar in nanoseconds since 1970 (UTC), between 1970 and 2262.
///
/// A store stamps every entry with its own clock. Durations between two of them
/// are only ever used clamped: a clock that is stepped cannot give an operation
/// more time than it has.
///
/// ```
/// use std::time::Duration;
/// use retry_core::record::Timestamp;
///
/// let at = Timestamp::from_nanos(1_000_000_000);
/// assert_eq!(at.plus(Duration::from_secs(2)).since(at), Duration::from_secs(2));
/// assert_eq!(at.since(at.plus(Duration::from_secs(2))), Duration::ZERO);
/// ```
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(from = "i64", into = "i64")]
pub struct Timestamp(i64);

impl Timestamp {
    /// That many nanoseconds after 1970; a negative number is 0.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(if nanos < 0 { 0 } else { nanos })
    }

    /// Nanoseconds since 1970, never negative.
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// As RFC 3339 in UTC, for people and other programs. A precision is the number of
    /// digits below the second; without one, as many as are needed.
    ///
    /// ```
    /// use retry_core::record::Timestamp;
    ///
    /// let at = Timestamp::from_nanos(1_500_000_000);
    /// assert_eq!(at.rfc3339().to_string(), "1970-01-01T00:00:01.5Z");
    /// assert_eq!(format!("{:.3}", at.rfc3339()), "1970-01-01T00:00:01.500Z");
    /// ```
    pub fn rfc3339(self) -> impl fmt::Display {
        // Each of them is within the range of a calendar.
        jiff::Timestamp::from_nanosecond(self.0.into()).unwrap_or(jiff::Timestamp::MAX)
    }

    /// The time that much later, at most the last one that can be kept.
    pub const fn plus(self, span: Duration) -> Self {
        Self(self.0.saturating_add(Nanos::from_duration(span).get() as i64))
    }

    /// The time since `earlier`; zero where that is not earlier.
    pub const fn since(self, earlier: Self) -> Duration {
        let nanos = self.0 - earlier.0;
        Duration::from_nanos(if nanos < 0 { 0 } else { nanos as u64 })
    }
}

impl From<i64> for Timestamp {
    fn from(nanos: i64) -> Self {
        Self::from_nanos(nanos)
    }
}

impl From<Timestamp> for i64 {
    fn from(at: Timestamp) -> Self {
        at.as_nanos()
    }
}

/// Clamped to what can be kept.
impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(Nanos::from_duration(since).get() as i64)
    }
}

impl From<Timestamp> for SystemTime {
    fn from(at: Timestamp) -> Self {
        UNIX_EPOCH + at.since(Timestamp(0))
    }
}

/// Nanoseconds since 1970.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
