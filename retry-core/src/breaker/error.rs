//! Why a breaker cannot be built.

use std::fmt;

use crate::policy::PolicyError;

/// Why a breaker cannot be built: names the value and the fix.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum BreakerError {
    /// It would open after no failure.
    NoFailures,
    /// The share of failures is not above 0 and at most 1.
    Share {
        /// As given.
        share: f64,
    },
    /// The window holds nothing.
    EmptyWindow,
    /// The window of calls is larger than
    /// [`Window::MAX_CALLS`](super::Window::MAX_CALLS).
    WindowTooLarge {
        /// As given.
        calls: u32,
        /// How many it may hold.
        most: u32,
    },
    /// A rate of no calls.
    NoMinimum,
    /// The window can never hold as many calls as it asks for.
    MinimumAboveWindow {
        /// As given.
        minimum: u32,
        /// As given.
        calls: u32,
    },
    /// It would never refuse a call.
    NoOpenPeriod,
    /// The backoff of the open periods cannot be used.
    OpenPeriod(PolicyError),
    /// The number of probes is not 1 to 1000.
    Probes {
        /// As given.
        probes: u32,
    },
    /// No probe could settle in time.
    NoLease,
}

impl fmt::Display for BreakerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFailures => f.write_str(
                "failures is 0, and a breaker that has seen no failure stays closed; \
                 write 1 to open at the first one",
            ),
            Self::Share { share } => write!(
                f,
                "the share of failures is {share}, and must be above 0 and at most 1 \
                 (billionths count); write 0.5 for every second call",
            ),
            Self::EmptyWindow => {
                f.write_str("the window is 0 long and holds no call; raise its calls or its time")
            }
            Self::WindowTooLarge { calls, most } => write!(
                f,
                "a window of {calls} calls is above {most}; lower it, or use a window of time"
            ),
            Self::NoMinimum => f.write_str(
                "the minimum is 0 calls, and none have no rate; \
                 write 1 to judge from the first call on",
            ),
            Self::MinimumAboveWindow { minimum, calls } => write!(
                f,
                "the minimum ({minimum} calls) is above the window ({calls} calls), \
                 which would never be judged; lower the minimum or raise the window",
            ),
            Self::NoOpenPeriod => {
                f.write_str("the open period is 0s, in which no call would be refused; raise it")
            }
            Self::OpenPeriod(error) => write!(f, "the open period's {error}"),
            Self::Probes { probes } => write!(
                f,
                "probes is {probes}, and must be 1 to 1000; write 1 to close after one success",
            ),
            Self::NoLease => f.write_str(
                "lease is 0s, in which no probe can settle; \
                 choose longer than the slowest good call",
            ),
        }
    }
}

/// No source: the text says it all.
impl std::error::Error for BreakerError {}
