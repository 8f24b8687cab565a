//! Why no further attempt follows.

mod cause;
mod unknown;

use std::fmt;
use std::str::FromStr;

pub use cause::Stop;
pub(crate) use cause::{Deadline, Detail};
pub(crate) use unknown::UnknownName;

macro_rules! stop_reasons {
    ($($(#[doc = $doc:literal])+ $variant:ident = $code:literal, $text:literal;)*) => {
        /// Why no further attempt follows: a closed set of stable codes.
        ///
        /// No code is ever renamed or given another meaning.
        ///
        /// ```
        /// use retry_core::StopReason;
        ///
        /// assert_eq!(StopReason::AttemptsExhausted.code(), "attempts_exhausted");
        /// assert_eq!("attempts_exhausted".parse(), Ok(StopReason::AttemptsExhausted));
        /// assert!("gave_up".parse::<StopReason>().is_err());
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "durable", derive(serde::Serialize, serde::Deserialize))]
        pub enum StopReason {
            $($(#[doc = $doc])+ #[cfg_attr(feature = "durable", serde(rename = $code))] $variant,)*
        }

        impl StopReason {
            /// Every reason, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The stable code: for logs, labels, records and programs.
            pub const fn code(self) -> &'static str {
                match self { $(Self::$variant => $code,)* }
            }

            /// One clause for people, without a full stop.
            pub const fn description(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }

        impl FromStr for StopReason {
            type Err = UnknownStopReason;

            fn from_str(code: &str) -> Result<Self, Self::Err> {
                match code {
                    $($code => Ok(Self::$variant),)*
                    _ => Err(UnknownStopReason(code.chars().take(UnknownStopReason::SHOWN).collect())),
                }
            }
        }
    };
}

stop_reasons! {
    /// The error is permanent.
    FailPermanent = "fail_permanent", "the error is permanent";
    /// Nobody can tell whether the attempt took effect: a person decides.
    ManualReview = "manual_review", "a person must find out whether it took effect";
    /// The other side said not to retry.
    DoNotRetry = "do_not_retry", "the other side said not to retry";
    /// The failed attempt made a call that must not run twice.
    NotIdempotent = "not_idempotent", "the failed attempt made a call that must not run twice";
    /// Retries are switched off.
    Disabled = "disabled", "retries are switched off";
    /// The operation's time is used up, or the next attempt would start too late.
    DeadlineExceeded = "deadline_exceeded", "no time is left for another attempt";
    /// All attempts that the policy allows were made.
    AttemptsExhausted = "attempts_exhausted", "all attempts are used up";
    /// The other side asked for a wait above the policy's limit.
    HintTooLong = "hint_too_long", "the other side asked for a longer wait than the policy allows";
    /// The local retry budget of the resource is empty: the failed attempt is not
    /// sent again.
    BudgetExhausted = "budget_exhausted", "the local retry budget is empty";
    /// The local circuit breaker of the resource is open: no attempt is sent any
    /// more. What earlier attempts did, [`Stopped::attempts`](crate::Stopped::attempts)
    /// tells: at 0 nothing was sent.
    CircuitOpen = "circuit_open", "the local circuit breaker is open";
    /// Retries of nested operations would multiply beyond the limit.
    NestingLimit = "nesting_limit", "nested retries would multiply beyond the limit";
    /// The caller went away, or the process shuts down.
    Cancelled = "cancelled", "the operation was cancelled";
    /// The policy or the key cannot be used; no attempt was made.
    InvalidPolicy = "invalid_policy", "the policy or the key cannot be used";
    /// The same durable operation is running elsewhere.
    InFlight = "in_flight", "the same operation is already running";
    /// The same key came with other arguments.
    KeyReused = "key_reused", "the same key was used with other arguments";
    /// The store could not record the next step.
    StoreFailed = "store_failed", "the store could not record the next step";
    /// Another worker took the operation over.
    LeaseLost = "lease_lost", "another worker took the operation over";
}

impl StopReason {
    /// Whether trying once more from outside makes sense: the operation ran out of
    /// what it had. Not where it found that nothing helps, that nobody can tell, or
    /// that there are too many attempts already.
    pub(crate) const fn is_given_up(self) -> bool {
        matches!(
            self,
            Self::AttemptsExhausted
                | Self::DeadlineExceeded
                | Self::HintTooLong
                | Self::BudgetExhausted
                | Self::CircuitOpen
        )
    }

    /// Of two stops in one attempt, the graver one is heard: one that a person must
    /// look at, then one that no retry helps.
    pub(crate) const fn gravity(self) -> u8 {
        match self {
            Self::ManualReview | Self::NotIdempotent => 2,
            given_up if given_up.is_given_up() => 0,
            _ => 1,
        }
    }
}

/// The code.
impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.code())
    }
}

/// The text is not the code of a stop reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownStopReason(String);

impl UnknownStopReason {
    /// How much of a wrong text is worth repeating.
    const SHOWN: usize = 64;
}

impl fmt::Display for UnknownStopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a stop reason; the codes are ", self.0.escape_debug())?;
        for (index, reason) in StopReason::ALL.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{reason}")?;
        }
        Ok(())
    }
}

impl std::error::Error for UnknownStopReason {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pinned: a code is part of what operators and programs rely on.
    #[test]
    fn the_codes_are_stable() {
        let codes: Vec<_> = StopReason::ALL.iter().map(|reason| reason.code()).collect();
        assert_eq!(
            codes,
            [
                "fail_permanent",
                "manual_review",
                "do_not_retry",
                "not_idempotent",
                "disabled",
                "deadline_exceeded",
                "attempts_exhausted",
                "hint_too_long",
                "budget_exhausted",
                "circuit_open",
                "nesting_limit",
                "cancelled",
                "invalid_policy",
                "in_flight",
                "key_reused",
                "store_failed",
                "lease_lost",
            ]
        );
    }

    #[test]
    fn every_code_parses_back_and_no_other_does() {
        for reason in StopReason::ALL {
            assert_eq!(reason.code().parse(), Ok(*reason));
        }
        for code in ["", "Cancelled", "cancelled ", "schedule_retry", "attempts-exhausted"] {
            assert!(code.parse::<StopReason>().is_err(), "{code:?}");
        }
    }
}
