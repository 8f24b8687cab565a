//! Whole nanoseconds, the only unit of time in the pure layer.

use std::time::Duration;

/// A span of time in nanoseconds, never above `i64::MAX` (292 years), so that
/// sums and products in wider integers cannot overflow and a store can keep
/// the value in a signed column.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "durable", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "durable", serde(from = "u64", into = "u64"))]
pub(crate) struct Nanos(u64);

impl Nanos {
    pub(crate) const ZERO: Self = Self(0);
    pub(crate) const MAX: Self = Self(i64::MAX as u64);

    /// Clamps: every duration that a user hands in enters through here.
    pub(crate) const fn from_duration(duration: Duration) -> Self {
        Self::saturating(duration.as_nanos())
    }

    /// Clamps a wide intermediate result.
    pub(crate) const fn saturating(nanos: u128) -> Self {
        if nanos > Self::MAX.0 as u128 { Self::MAX } else { Self(nanos as u64) }
    }

    pub(crate) const fn duration(self) -> Duration {
        Duration::from_nanos(self.0)
    }

    pub(crate) const fn get(self) -> u64 {
        self.0
    }

    pub(crate) const fn wide(self) -> u128 {
        self.0 as u128
    }

    pub(crate) const fn is_zero(self) -> bool {
        self.0 == 0
    }

    pub(crate) const fn plus(self, other: Self) -> Self {
        Self::saturating(self.0 as u128 + other.0 as u128)
    }

    pub(crate) const fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    pub(crate) const fn min(self, other: Self) -> Self {
        if self.0 <= other.0 { self } else { other }
    }

    pub(crate) const fn max(self, other: Self) -> Self {
        if self.0 >= other.0 { self } else { other }
    }
}

#[cfg(feature = "durable")]
impl From<u64> for Nanos {
    fn from(nanos: u64) -> Self {
        Self::saturating(u128::from(nanos))
    }
}

#[cfg(feature = "durable")]
impl From<Nanos> for u64 {
    fn from(nanos: Nanos) -> Self {
        nanos.get()
    }
}

impl std::fmt::Debug for Nanos {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_zero() {
            return f.pad("0s");
        }
        f.pad(&format!("{:?}", self.duration()))
    }
}

/// Durations in records: whole nanoseconds.
#[cfg(feature = "durable")]
pub(crate) mod span {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Nanos;

    pub(crate) fn serialize<S: Serializer>(
        span: &Duration,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        Nanos::from_duration(*span).get().serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_nanos)
    }

    pub(crate) mod optional {
        use super::{Deserialize, Deserializer, Duration, Nanos, Serialize, Serializer};

        pub(crate) fn serialize<S: Serializer>(
            span: &Option<Duration>,
            serializer: S,
        ) -> Result<S::Ok, S::Error> {
            span.map(|span| Nanos::from_duration(span).get()).serialize(serializer)
        }

        pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
            deserializer: D,
        ) -> Result<Option<Duration>, D::Error> {
            Option::<u64>::deserialize(deserializer).map(|span| span.map(Duration::from_nanos))
        }
    }
}
