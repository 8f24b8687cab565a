//! What happens to an operation, as its record tells it.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Fingerprint;
use crate::classify::Failure;
use crate::decide::{Decision, Situation, Wait, planned};
use crate::ledger::Ledger;
use crate::nanos::span;
use crate::operation_id::OperationId;
use crate::policy::Policy;
use crate::safety::Safety;
use crate::stop::{Stop, StopReason};

/// What happened: the body of one entry. As JSON, it is what an operator reads
/// in the store.
///
/// Times are logical: since the start of attempt 1, or of a deferral before it,
/// and with what a restart took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Event {
    /// The operation exists. Everything that it began with, and keeps.
    Enqueued {
        /// Its id, from which the delays are derived.
        operation: String,
        /// Why repeating it is safe.
        safety: Safety,
        /// Its numbers, frozen.
        policy: Policy,
        /// The version of the decision rules.
        rules: u32,
        /// Of its arguments.
        fingerprint: Fingerprint,
    },
    /// An attempt is charged; its body runs after this is kept.
    AttemptStarted {
        /// Its number, from 1.
        attempt: u32,
        /// When.
        #[serde(rename = "elapsed_ns", with = "span")]
        elapsed: Duration,
    },
    /// The body is done, cut, or gone.
    AttemptFinished {
        /// Its number.
        attempt: u32,
        /// When.
        #[serde(rename = "elapsed_ns", with = "span")]
        elapsed: Duration,
        /// How it ended.
        ended: Ended,
        /// What its error means; none where it succeeded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<Failure>,
        /// The error's text, where it has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// What held around the operation when that was judged.
        #[serde(default, skip_serializing_if = "is_usual")]
        situation: Situation,
    },
    /// `schedule_retry`: another attempt follows, and this is its delay.
    DelayChosen(DelayChosen),
    /// The attempt may not start yet, and none is counted.
    Deferred {
        /// When.
        #[serde(rename = "elapsed_ns", with = "span")]
        elapsed: Duration,
        /// Who refused.
        reason: StopReason,
        /// Until when.
        #[serde(rename = "until_ns", with = "span")]
        until: Duration,
        /// What held around the operation.
        #[serde(default, skip_serializing_if = "is_usual")]
        situation: Situation,
    },
    /// A stop that was answered and is not final: the same call goes on.
    Parked {
        /// When.
        #[serde(rename = "elapsed_ns", with = "span")]
        elapsed: Duration,
        /// Why.
        reason: StopReason,
        /// The reason with its numbers.
        text: String,
        /// When the next attempt starts, where a wait was computed.
        #[serde(
            default,
            rename = "start_ns",
            with = "span::optional",
            skip_serializing_if = "Option::is_none"
        )]
        start: Option<Duration>,
        /// What held around the operation, where no failure was judged.
        #[serde(default, skip_serializing_if = "is_usual")]
        situation: Situation,
    },
    /// Somebody goes on with it. Charges the time in which nobody did.
    Resumed {
        /// From the last entry to now by the calendar, at most what was left.
        #[serde(rename = "charged_ns", with = "span")]
        charged: Duration,
    },
    /// Whoever held it did not extend its lease.
    // With braces: a field that is not known would be let through without.
    LeaseLost {},
    /// An attempt was charged, and its body was never polled. Its number is not
    /// used again.
    Released {
        /// The number.
        attempt: u32,
    },
    /// The operation has its result.
    ResultRecorded {
        /// Checksum of the result's text.
        sum: String,
    },
    /// A stop that is final.
    Dead {
        /// When.
        #[serde(rename = "elapsed_ns", with = "span")]
        elapsed: Duration,
        /// Why.
        reason: StopReason,
        /// The reason with its numbers.
        text: String,
        /// What held around the operation, where no failure was judged.
        #[serde(default, skip_serializing_if = "is_usual")]
        situation: Situation,
    },
    /// A person decides.
    ReviewOpened {
        /// When.
        #[serde(rename = "elapsed_ns", with = "span")]
        elapsed: Duration,
        /// Why.
        reason: StopReason,
        /// The reason with its numbers.
        text: String,
    },
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// With a value.
    Succeeded,
    /// With an error.
    Failed,
    /// By its timeout, or the deadline.
    Cut,
    /// Its future was dropped: the caller went away.
    Dropped,
    /// Its body panicked.
    Panicked,
    /// Its process is gone, or did not extend its lease.
    Crashed,
}

/// A delay and what it was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct DelayChosen {
    /// The attempt that failed.
    pub attempt: u32,
    /// The longest computed delay after it.
    #[serde(rename = "ceiling_ns", with = "span")]
    pub ceiling: Duration,
    /// The operation's draw.
    pub unit: u32,
    /// The delay that the backoff gave.
    #[serde(rename = "computed_ns", with = "span")]
    pub computed: Duration,
    /// The wait that the other side asked for.
    #[serde(
        default,
        rename = "hint_ns",
        with = "span::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub hint: Option<Duration>,
    /// The delay that is slept.
    #[serde(rename = "delay_ns", with = "span")]
    pub delay: Duration,
    /// When the next attempt starts.
    #[serde(rename = "start_ns", with = "span")]
    pub start: Duration,
}

impl From<&Wait> for DelayChosen {
    fn from(wait: &Wait) -> Self {
        Self {
            attempt: wait.attempt(),
            ceiling: wait.ceiling(),
            unit: wait.unit(),
            computed: wait.computed(),
            hint: wait.hint(),
            delay: wait.delay(),
            start: wait.start(),
        }
    }
}

impl Event {
    /// What the pure function decides before an attempt, as an event; `None` where
    /// the attempt starts.
    pub(crate) fn of_start(
        decision: &Decision,
        elapsed: Duration,
        situation: Situation,
    ) -> Option<Self> {
        Some(match decision {
            Decision::StartAttempt => return None,
            Decision::ScheduleRetry(wait) => Self::DelayChosen(wait.into()),
            Decision::Defer(deferral) => Self::Deferred {
                elapsed,
                reason: deferral.reason(),
                until: deferral.until(),
                situation,
            },
            Decision::Stop(stop) => Self::of_stop(stop, elapsed, None, situation),
        })
    }

    /// What the pure function decides after a failure, as an event. What held then is
    /// told by the entry of the attempt. A stop that is not final leaves the next
    /// attempt planned.
    pub(crate) fn of_failure(
        decision: &Decision,
        policy: &Policy,
        ledger: &Ledger,
        situation: &Situation,
        id: &OperationId,
        failure: &Failure,
    ) -> Option<Self> {
        let elapsed = ledger.elapsed();
        match decision {
            Decision::Stop(stop) => {
                let start = planned(policy, ledger, situation, id, failure);
                Some(Self::of_stop(stop, elapsed, start, Situation::new()))
            }
            other => Self::of_start(other, elapsed, Situation::new()),
        }
    }

    /// A stop, by what it means for the record.
    pub(crate) fn of_stop(
        stop: &Stop,
        elapsed: Duration,
        planned: Option<Duration>,
        situation: Situation,
    ) -> Self {
        let (reason, text) = (stop.reason(), stop.to_string());
        match stop.finality() {
            Finality::Dead => Self::Dead { elapsed, reason, text, situation },
            Finality::Review => Self::ReviewOpened { elapsed, reason, text },
            Finality::Resumable => {
                Self::Parked { elapsed, reason, text, start: planned, situation }
            }
        }
    }

    /// The kind, as in the column: `attempt_started`.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Enqueued { .. } => "enqueued",
            Self::AttemptStarted { .. } => "attempt_started",
            Self::AttemptFinished { .. } => "attempt_finished",
            Self::DelayChosen(_) => "delay_chosen",
            Self::Deferred { .. } => "deferred",
            Self::Parked { .. } => "parked",
            Self::Resumed { .. } => "resumed",
            Self::LeaseLost {} => "lease_lost",
            Self::Released { .. } => "released",
            Self::ResultRecorded { .. } => "result_recorded",
            Self::Dead { .. } => "dead",
            Self::ReviewOpened { .. } => "review_opened",
        }
    }
}

/// What a stop means for the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finality {
    /// The same call answers it again.
    Dead,
    /// A person decides; until then the same call answers it again.
    Review,
    /// The same call goes on.
    Resumable,
}

impl Stop {
    /// What this stop means for the record: as its reason says, unless what was
    /// around the operation left it less time than its own. Then the same call goes
    /// on with what is left of that.
    pub(crate) const fn finality(&self) -> Finality {
        match self.reason() {
            StopReason::DeadlineExceeded if self.is_bounded_from_outside() => Finality::Resumable,
            reason => reason.finality(),
        }
    }
}

impl StopReason {
    /// What a stop of this reason means for the record of a durable operation. One
    /// exception: `deadline_exceeded`, where it was not the operation's own deadline
    /// but what is around it, is resumable.
    ///
    /// ```
    /// use retry_core::StopReason;
    /// use retry_core::record::Finality;
    ///
    /// assert_eq!(StopReason::AttemptsExhausted.finality(), Finality::Dead);
    /// assert_eq!(StopReason::ManualReview.finality(), Finality::Review);
    /// assert_eq!(StopReason::CircuitOpen.finality(), Finality::Resumable);
    /// ```
    pub const fn finality(self) -> Finality {
        match self {
            Self::FailPermanent
            | Self::DoNotRetry
            | Self::HintTooLong
            | Self::AttemptsExhausted
            | Self::DeadlineExceeded => Finality::Dead,
            Self::ManualReview | Self::NotIdempotent => Finality::Review,
            Self::Disabled
            | Self::CircuitOpen
            | Self::BudgetExhausted
            | Self::Cancelled
            | Self::StoreFailed
            | Self::LeaseLost
            | Self::NestingLimit
            | Self::InvalidPolicy
            | Self::InFlight
            | Self::KeyReused => Finality::Resumable,
        }
    }
}

impl Ended {
    /// As a word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cut => "cut",
            Self::Dropped => "dropped",
            Self::Panicked => "panicked",
            Self::Crashed => "crashed",
        }
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

fn is_usual(situation: &Situation) -> bool {
    *situation == Situation::new()
}
