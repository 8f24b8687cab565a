//! Why a policy cannot be used.

use std::fmt;
use std::time::Duration;

use super::message::Message;

/// Why a policy or a key cannot be used: names the value and the fix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PolicyError {
    /// No attempt is allowed.
    NoAttempts,
    /// No time is given.
    ZeroDeadline,
    /// An attempt would be cut before it starts.
    ZeroAttemptTimeout,
    /// The deadline would always be the first to cut.
    AttemptTimeoutTooLong {
        /// As given.
        attempt_timeout: Duration,
        /// As given.
        deadline: Duration,
    },
    /// The cap cuts the first delay already.
    CapBelowBase {
        /// As given.
        cap: Duration,
        /// As given.
        base: Duration,
    },
    /// No delay can be a multiple of the quantum.
    QuantumAboveCap {
        /// As given.
        quantum: Duration,
        /// As given, or the default.
        cap: Duration,
    },
    /// The factor shrinks, divides by zero, or is out of range.
    Factor {
        /// As given.
        numerator: u32,
        /// As given.
        denominator: u32,
    },
    /// A factor on a backoff that does not grow by one.
    MisplacedFactor {
        /// As given.
        numerator: u32,
        /// As given.
        denominator: u32,
    },
    /// Some attempts cannot start before the deadline, whatever the draws are.
    ScheduleTooLong {
        /// The last attempt that can start.
        reach: u32,
        /// As given.
        max_attempts: u32,
        /// The shortest waits before the last attempt, added up.
        waits: Duration,
        /// As given.
        deadline: Duration,
    },
    /// The idempotency key is empty.
    EmptyKey,
    /// The operation has a key and no name to derive it under.
    EmptyName,
    /// Neither a clock of one's own nor the feature `tokio` is there.
    NoClock,
    /// The operation is durable, and its retrier has no store.
    NoStore,
    /// The operation is durable, and its backoff is a function, which no record
    /// can keep.
    CustomBackoff,
}

impl PolicyError {
    /// The text, made without a formatter so that the compiler can say it.
    const fn message(&self) -> Message {
        let message = Message::new();
        match *self {
            Self::NoAttempts => message
                .text("max_attempts is 0, and the first attempt counts; write 1 for no retry, more to retry"),
            Self::ZeroDeadline => {
                message.text("deadline is 0s, which leaves no time for the first attempt; raise it")
            }
            Self::ZeroAttemptTimeout => {
                message.text("attempt_timeout is 0s, which cuts every attempt; raise it or leave it out")
            }
            Self::AttemptTimeoutTooLong { attempt_timeout, deadline } => message
                .text("attempt_timeout (")
                .duration(attempt_timeout)
                .text(") must be shorter than deadline (")
                .duration(deadline)
                .text("); shorten it, or leave it out: the deadline cuts attempts too"),
            Self::CapBelowBase { cap, base } => message
                .text("cap (")
                .duration(cap)
                .text(") is below base (")
                .duration(base)
                .text("); raise the cap or lower the base"),
            Self::QuantumAboveCap { quantum, cap } => message
                .text("quantum (")
                .duration(quantum)
                .text(") is above cap (")
                .duration(cap)
                .text("); lower the quantum or raise the cap"),
            Self::Factor { numerator, denominator } => message
                .text("factor ")
                .ratio(numerator, denominator)
                .text(" must be at least 1 and its numerator at most 1000; write 3/2 as `factor(3, 2)`"),
            Self::MisplacedFactor { numerator, denominator } => message
                .text("factor ")
                .ratio(numerator, denominator)
                .text(" has no meaning here; only `Backoff::exponential` grows by a factor"),
            Self::ScheduleTooLong { reach, max_attempts, waits, deadline } => message
                .attempts(reach as u64 + 1, max_attempts as u64)
                .text(" can never run: the shortest waits before the last add up to ")
                .duration(waits)
                .text(", and deadline is ")
                .duration(deadline)
                .text("; lower max_attempts to ")
                .number(reach as u64)
                .text(", shorten the backoff or raise deadline"),
            Self::EmptyKey => {
                message.text("the idempotency key is empty; give each logical call a value of its own")
            }
            Self::EmptyName => {
                message.text("the operation has a key and no name; keys are derived under a name that never changes")
            }
            Self::NoClock => message
                .text("there is no clock: enable the feature `tokio`, give the retrier a clock, or run inside `Clock::scope`"),
            Self::NoStore => message
                .text("the operation is durable, and its retrier has no store; add one with `Retrier::builder().store(…)`"),
            Self::CustomBackoff => message
                .text("a backoff by a function cannot be kept in a record; write it with `Backoff::exponential`, `linear`, `fibonacci` or `fixed`"),
        }
    }

    /// Stops the compiler with this error's text. For the attribute, whose
    /// policy is judged in a constant.
    #[doc(hidden)]
    #[track_caller]
    pub const fn refuse(&self) -> ! {
        #[allow(clippy::panic, reason = "runs in the compiler, never in a program")]
        {
            panic!("{}", self.message().as_str())
        }
    }
}

impl From<crate::key::EmptyKey> for PolicyError {
    fn from(_: crate::key::EmptyKey) -> Self {
        Self::EmptyKey
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message().as_str())
    }
}

impl std::error::Error for PolicyError {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Anybody may build one, with any numbers.
    #[test]
    fn the_longest_texts_are_whole_and_exact() {
        let (max, odd) = (Duration::MAX, Duration::from_nanos(i64::MAX as u64));
        for (error, end) in [
            (PolicyError::NoAttempts, "more to retry"),
            (PolicyError::ZeroDeadline, "raise it"),
            (PolicyError::ZeroAttemptTimeout, "leave it out"),
            (
                PolicyError::AttemptTimeoutTooLong { attempt_timeout: odd, deadline: odd },
                "than deadline (9223372036s 854ms 775us 807ns); shorten it, or leave it out: the deadline \
                 cuts attempts too",
            ),
            (
                PolicyError::CapBelowBase { cap: odd, base: max },
                "cap (9223372036s 854ms 775us 807ns) is below base (9223372036s 854ms 775us 807ns); raise the cap \
                 or lower the base",
            ),
            (
                PolicyError::QuantumAboveCap { quantum: odd, cap: odd },
                "is above cap (9223372036s 854ms 775us 807ns); lower the quantum or raise the cap",
            ),
            (
                PolicyError::Factor { numerator: u32::MAX, denominator: u32::MAX },
                "write 3/2 as `factor(3, 2)`",
            ),
            (
                PolicyError::MisplacedFactor { numerator: u32::MAX, denominator: u32::MAX },
                "grows by a factor",
            ),
            (
                PolicyError::ScheduleTooLong {
                    reach: u32::MAX - 2,
                    max_attempts: u32::MAX,
                    waits: odd,
                    deadline: odd,
                },
                "attempts 4294967294 to 4294967295 can never run: the shortest waits before the \
                 last add up to 9223372036s 854ms 775us 807ns, and deadline is 9223372036s 854ms 775us 807ns; \
                 lower max_attempts to 4294967293, shorten the backoff or raise deadline",
            ),
            (PolicyError::EmptyKey, "a value of its own"),
            (PolicyError::EmptyName, "that never changes"),
            (PolicyError::NoClock, "run inside `Clock::scope`"),
        ] {
            let text = error.to_string();
            assert!(text.ends_with(end), "{text}");
        }
    }
}
