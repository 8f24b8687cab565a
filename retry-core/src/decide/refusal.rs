//! What follows when a resource's budget or breaker says no.

use std::time::Duration;

use super::{Decision, Wait};
use crate::nanos::Nanos;
use crate::stop::{Detail, Stop, StopReason};

/// What follows when the budget or the breaker of a resource says no.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[cfg_attr(feature = "durable", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "durable", serde(rename_all = "snake_case"))]
pub enum OnRefusal {
    /// The operation stops, with `budget_exhausted` or `circuit_open`. The
    /// default of operations that live in a process.
    #[default]
    Stop,
    /// The operation waits until it may go on, once and without polling, if
    /// that is before its deadline. No attempt is counted for it.
    Defer,
}

/// A refusal, and what is known about its end.
///
/// ```
/// use std::time::Duration;
/// use retry_core::{Decision, Failure, Ledger, OnRefusal, Policy, Refusal, Situation, StopReason, decide};
///
/// let policy = Policy::new(3, Duration::from_secs(5));
/// let mut ledger = Ledger::new();
/// ledger.attempt_started();
/// let refusal = Refusal::budget(Some(Duration::from_secs(1)));
/// let busy = Failure::transient();
///
/// let stop = Situation::new().refused(refusal);
/// let decision = decide(&policy, &ledger, &stop, &"order-1".into(), Some(&busy));
/// assert_eq!(decision.stop_reason(), Some(StopReason::BudgetExhausted));
///
/// let defer = Situation::new().refused(refusal.on_refusal(OnRefusal::Defer));
/// let decision = decide(&policy, &ledger, &defer, &"order-1".into(), Some(&busy));
/// let Decision::ScheduleRetry(wait) = decision else { panic!("a permit comes in time") };
/// assert_eq!(wait.start(), Duration::from_secs(1));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "durable", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "durable", serde(deny_unknown_fields))]
#[must_use]
pub struct Refusal {
    by: By,
    /// When the next permit is, since the start of attempt 1.
    #[cfg_attr(
        feature = "durable",
        serde(rename = "next_ns", default, skip_serializing_if = "Option::is_none")
    )]
    next: Option<Nanos>,
    /// How often the operation was deferred already.
    deferrals: u32,
    on_refusal: OnRefusal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "durable", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "durable", serde(rename_all = "snake_case"))]
enum By {
    Budget,
    Breaker,
}

impl Refusal {
    /// How often one operation is deferred at most.
    pub const MAX_DEFERRALS: u32 = 16;

    /// The retry budget is empty; `next` is when it has a token for this
    /// operation, counted from the start of attempt 1, if that is known.
    pub fn budget(next: Option<Duration>) -> Self {
        Self::by(By::Budget, next)
    }

    /// The breaker is open; `next` is when it lets a probe through.
    pub fn breaker(next: Option<Duration>) -> Self {
        Self::by(By::Breaker, next)
    }

    fn by(by: By, next: Option<Duration>) -> Self {
        let next = next.map(Nanos::from_duration);
        Self { by, next, deferrals: 0, on_refusal: OnRefusal::Stop }
    }

    /// Sets how often the operation was deferred already.
    pub const fn deferrals(self, deferrals: u32) -> Self {
        Self { deferrals, ..self }
    }

    /// Sets what follows.
    pub const fn on_refusal(self, on_refusal: OnRefusal) -> Self {
        Self { on_refusal, ..self }
    }

    pub(super) fn defers(&self) -> bool {
        self.on_refusal == OnRefusal::Defer
    }

    /// The code of the stop, or of the deferral.
    pub const fn reason(&self) -> StopReason {
        match self.by {
            By::Budget => StopReason::BudgetExhausted,
            By::Breaker => StopReason::CircuitOpen,
        }
    }

    /// Until when to wait, or why not. `earliest` is when the attempt would start
    /// without the refusal.
    fn until(&self, earliest: Nanos, deadline: Nanos) -> Result<Nanos, Stop> {
        let stop = |detail| Err(Stop::with(self.reason(), detail));
        let Some(next) = self.next else {
            return stop(Detail::Refused { next: None });
        };
        let until = earliest.max(next);
        if self.on_refusal == OnRefusal::Stop {
            return stop(Detail::Refused { next: Some(next) });
        }
        if self.deferrals >= Self::MAX_DEFERRALS {
            return stop(Detail::Deferrals { deferrals: self.deferrals });
        }
        if until >= deadline {
            return stop(Detail::PermitLate { next: until, deadline });
        }
        Ok(until)
    }

    /// A retry that has to wait for its token too.
    pub(super) fn after_failure(&self, wait: Wait, deadline: Nanos) -> Result<Wait, Stop> {
        let failed = wait.start.minus(wait.delay);
        let start = self.until(wait.start, deadline)?;
        Ok(Wait { delay: start.minus(failed), start, ..wait })
    }

    /// An attempt that may not start yet.
    pub(super) fn before_attempt(&self, elapsed: Nanos, deadline: Nanos) -> Decision {
        match self.until(elapsed, deadline) {
            Ok(until) => Decision::Defer(Deferral { reason: self.reason(), at: elapsed, until }),
            Err(stop) => Decision::Stop(stop),
        }
    }
}

/// A wait for permission: no attempt is counted for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deferral {
    pub(crate) reason: StopReason,
    pub(crate) at: Nanos,
    pub(crate) until: Nanos,
}

impl Deferral {
    /// Who refused: `budget_exhausted` or `circuit_open`.
    pub const fn reason(&self) -> StopReason {
        self.reason
    }

    /// When the operation was refused, since the start of attempt 1.
    pub const fn at(&self) -> Duration {
        self.at.duration()
    }

    /// Until when it waits, since the start of attempt 1.
    pub const fn until(&self) -> Duration {
        self.until.duration()
    }
}
