//! A stop and the numbers that led to it.

use std::fmt;
use std::sync::Arc;

use super::{StopReason, UnknownName};
use crate::nanos::Nanos;
use crate::policy::PolicyError;

/// A stop: the reason, and in its text the numbers that led to it.
///
/// ```
/// use std::time::Duration;
/// use retry_core::{Decision, Failure, Ledger, Policy, Situation, decide};
///
/// let policy = Policy::new(3, Duration::from_secs(900));
/// let mut ledger = Ledger::new();
/// ledger.attempt_started();
/// let throttled = Failure::transient().after(Duration::from_secs(1800));
/// let decision = decide(&policy, &ledger, &Situation::new(), &"order-1".into(), Some(&throttled));
/// let Decision::Stop(stop) = decision else { panic!("the hint is over its limit") };
/// assert_eq!(
///     stop.to_string(),
///     "the other side asked for a wait of 1800s, and the hint limit is 60s",
/// );
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Stop {
    reason: StopReason,
    detail: Detail,
}

/// The numbers behind a stop.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Detail {
    None,
    Nested {
        /// Whether the time around the operation was less than its own.
        from_outside: bool,
    },
    MayHaveTakenEffect,
    Late {
        deadline: Deadline,
        elapsed: Nanos,
    },
    WouldStartLate {
        deadline: Deadline,
        elapsed: Nanos,
        delay: Nanos,
        hint: Option<Nanos>,
        limit: Nanos,
    },
    Attempts {
        max_attempts: u32,
    },
    Hint {
        hint: Nanos,
        limit: Nanos,
    },
    Nesting {
        calls: u64,
        limit: u32,
    },
    /// By a budget or a breaker.
    Refused {
        next: Option<Nanos>,
    },
    Deferrals {
        deferrals: u32,
    },
    PermitLate {
        next: Nanos,
        deadline: Nanos,
    },
    /// The retrier, not the switch alone.
    ShutDown,
    Invalid(PolicyError),
    /// What a record, a store or another call says.
    #[cfg(feature = "durable")]
    Said(Arc<str>),
    /// Why the store could not record the next step.
    #[cfg(feature = "durable")]
    Failed(Cause),
    /// Shared: a name and a list would make every stop larger.
    Unknown(Arc<UnknownName>),
}

/// An error of a layer above.
#[cfg(feature = "durable")]
#[derive(Clone, Debug)]
pub(crate) struct Cause(pub(crate) Arc<dyn std::error::Error + Send + Sync>);

#[cfg(feature = "durable")]
impl PartialEq for Cause {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.to_string() == other.0.to_string()
    }
}

/// The time that an operation had, and who said so.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Deadline {
    pub(crate) span: Nanos,
    /// Less than its own policy gives: what was left outside.
    pub(crate) from_outside: bool,
}

impl fmt::Display for Deadline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.from_outside {
            write!(f, "what is around the operation left it {:?}", self.span)
        } else {
            write!(f, "the deadline is {:?}", self.span)
        }
    }
}

impl Stop {
    pub(crate) const fn new(reason: StopReason) -> Self {
        Self::with(reason, Detail::None)
    }

    pub(crate) const fn with(reason: StopReason, detail: Detail) -> Self {
        Self { reason, detail }
    }

    /// A policy or key that cannot be used.
    pub(crate) const fn invalid(error: PolicyError) -> Self {
        Self::with(StopReason::InvalidPolicy, Detail::Invalid(error))
    }

    /// A name that the retrier does not know.
    pub(crate) const fn unknown(name: Arc<UnknownName>) -> Self {
        Self::with(StopReason::InvalidPolicy, Detail::Unknown(name))
    }

    /// Why no further attempt follows.
    pub const fn reason(&self) -> StopReason {
        self.reason
    }

    /// A stop in the words of a record, a store or another call.
    #[cfg(feature = "durable")]
    pub(crate) fn said(reason: StopReason, text: impl Into<Arc<str>>) -> Self {
        Self::with(reason, Detail::Said(text.into()))
    }

    /// The store could not record the next step.
    #[cfg(feature = "durable")]
    pub(crate) fn store_failed(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::with(StopReason::StoreFailed, Detail::Failed(Cause(Arc::new(error))))
    }

    /// What it was called with cannot be kept; no attempt was made.
    #[cfg(feature = "durable")]
    pub(crate) fn unkeepable(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::with(StopReason::InvalidPolicy, Detail::Failed(Cause(Arc::new(error))))
    }

    /// What the store said, where it could not record the next step.
    #[cfg(feature = "durable")]
    pub(crate) fn cause(&self) -> Option<&(dyn std::error::Error + Send + Sync + 'static)> {
        match &self.detail {
            Detail::Failed(Cause(error)) => Some(&**error),
            _ => None,
        }
    }

    /// Whether the time that bounded the operation was given by what is around
    /// it, where it is known.
    #[cfg(any(feature = "http", feature = "durable"))]
    pub(crate) const fn is_bounded_from_outside(&self) -> bool {
        match self.detail {
            Detail::Nested { from_outside }
            | Detail::Late { deadline: Deadline { from_outside, .. }, .. }
            | Detail::WouldStartLate { deadline: Deadline { from_outside, .. }, .. } => {
                from_outside
            }
            _ => false,
        }
    }

    /// When the budget or the breaker that refused lets the next one through,
    /// since the start of attempt 1.
    #[cfg(feature = "http")]
    pub(crate) const fn next_permit(&self) -> Option<Nanos> {
        match self.detail {
            Detail::Refused { next } => next,
            Detail::PermitLate { next, .. } => Some(next),
            _ => None,
        }
    }

    /// What is wrong with the policy, where that is the reason; `None` for a name
    /// that the retrier does not know.
    pub const fn policy_error(&self) -> Option<PolicyError> {
        match self.detail {
            Detail::Invalid(error) => Some(error),
            _ => None,
        }
    }
}

/// One clause, with the numbers.
impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.detail {
            Detail::None => f.write_str(self.reason.description()),
            Detail::Nested { .. } => {
                write!(f, "a nested operation had stopped: {}", self.reason.description())
            }
            Detail::MayHaveTakenEffect => f.write_str(
                "the attempt may have taken effect and runs at most once, so a person must find out",
            ),
            Detail::Late { deadline, elapsed } => {
                write!(f, "{elapsed:?} have passed, and {deadline}")
            }
            Detail::WouldStartLate { deadline, elapsed, delay, hint, limit } => {
                write!(f, "the next attempt would start {delay:?} from now, {elapsed:?} have passed, and {deadline}")?;
                match hint {
                    Some(hint) => write!(
                        f,
                        " (the other side asked for a wait of {hint:?}, within the hint limit of {limit:?})"
                    ),
                    None => Ok(()),
                }
            }
            Detail::Attempts { max_attempts: 1 } => f.write_str("the one attempt is used up"),
            Detail::Attempts { max_attempts } => {
                write!(f, "all {max_attempts} attempts are used up")
            }
            Detail::Hint { hint, limit } => write!(
                f,
                "the other side asked for a wait of {hint:?}, and the hint limit is {limit:?}"
            ),
            Detail::Nesting { calls, limit } => write!(
                f,
                "another attempt would bring the product of the nested attempt numbers to {calls}, and the limit is {limit}"
            ),
            Detail::ShutDown => f.write_str("the retrier was shut down"),
            Detail::Refused { next: None } => f.write_str(self.reason.description()),
            Detail::Refused { next: Some(next) } => {
                write!(f, "{}; the next permit comes {next:?} after the start", self.reason.description())
            }
            Detail::Deferrals { deferrals } => write!(
                f,
                "{}, and the operation has waited for it {deferrals} times already",
                self.reason.description()
            ),
            Detail::PermitLate { next, deadline } => write!(
                f,
                "{}; the next permit comes {next:?} after the start, and the deadline is {deadline:?}",
                self.reason.description()
            ),
            Detail::Invalid(error) => error.fmt(f),
            #[cfg(feature = "durable")]
            Detail::Said(text) => f.write_str(text),
            #[cfg(feature = "durable")]
            Detail::Failed(Cause(error)) => error.fmt(f),
            Detail::Unknown(name) => name.fmt(f),
        }
    }
}
