//! What observers hear.

use std::fmt;
use std::time::Duration;

use crate::classify::Failure;
use crate::decide::Decision;
use crate::operation_id::OperationId;
use crate::policy::Policy;
use crate::stop::{Stop, StopReason};

/// The body is about to run.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct AttemptStarted<'a> {
    /// The operation.
    pub operation: &'a OperationId,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// Since the start of attempt 1.
    pub elapsed: Duration,
    /// Since the end of the attempt before: the delay, a deferral, what ran
    /// before the retry. Zero on the first.
    pub waited: Duration,
    /// The policy that the operation began with, and keeps.
    pub policy: &'a Policy,
    /// The resource that the operation calls: the one that it names, or the
    /// retrier's default.
    pub resource: Option<&'a str>,
    /// Operations inside each other, this one included: 1 where none is around.
    pub depth: u32,
    /// The product of the current attempt numbers of this operation and of those
    /// around it.
    pub product: u32,
}

/// An attempt failed, and the decision is made.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct AttemptFailed<'a> {
    /// The operation.
    pub operation: &'a OperationId,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// Since the start of attempt 1.
    pub elapsed: Duration,
    /// What the error means.
    pub failure: &'a Failure,
    /// The error's text, where its type has one: `Display`, known to the
    /// attribute at the function.
    pub error: Option<&'a dyn fmt::Display>,
    /// What follows.
    pub decision: &'a Decision,
    /// The resource that the operation calls: the one that it names, or the
    /// retrier's default.
    pub resource: Option<&'a str>,
    /// Operations inside each other, this one included: 1 where none is around.
    pub depth: u32,
    /// The product of the current attempt numbers of this operation and of those
    /// around it.
    pub product: u32,
}

impl AttemptFailed<'_> {
    /// Whether another attempt is scheduled.
    pub const fn will_retry(&self) -> bool {
        matches!(self.decision, Decision::ScheduleRetry(_))
    }

    /// The delay that is slept before the next attempt, if there is one.
    pub const fn delay(&self) -> Option<Duration> {
        match self.decision {
            Decision::ScheduleRetry(wait) => Some(wait.delay()),
            _ => None,
        }
    }
}

impl fmt::Debug for AttemptFailed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AttemptFailed")
            .field("operation", self.operation)
            .field("attempt", &self.attempt)
            .field("elapsed", &self.elapsed)
            .field("failure", self.failure)
            .field("error", &self.error.map(|error| error.to_string()))
            .field("decision", self.decision)
            .field("resource", &self.resource)
            .field("depth", &self.depth)
            .field("product", &self.product)
            .finish()
    }
}

/// The next attempt was refused for now: its time is known, and is waited for.
/// No attempt is consumed.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Deferred<'a> {
    /// The operation.
    pub operation: &'a OperationId,
    /// Attempts started so far.
    pub attempts: u32,
    /// Since the start of attempt 1, or of the first deferral before it.
    pub elapsed: Duration,
    /// Who refused: [`BudgetExhausted`](StopReason::BudgetExhausted) or
    /// [`CircuitOpen`](StopReason::CircuitOpen).
    pub reason: StopReason,
    /// When the attempt is asked for again, counted as `elapsed` is.
    pub until: Duration,
    /// The resource that refused.
    pub resource: Option<&'a str>,
}

/// The operation has its result.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Succeeded<'a> {
    /// The operation.
    pub operation: &'a OperationId,
    /// Attempts that it took.
    pub attempts: u32,
    /// Since the start of attempt 1.
    pub elapsed: Duration,
    /// The resource that the operation calls: the one that it names, or the
    /// retrier's default.
    pub resource: Option<&'a str>,
}

/// The operation stopped for a reason.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct OperationStopped<'a> {
    /// The operation.
    pub operation: &'a OperationId,
    /// Attempts started.
    pub attempts: u32,
    /// Since the start of attempt 1.
    pub elapsed: Duration,
    /// The reason, with its numbers.
    pub stop: &'a Stop,
    /// What the last attempt failed with, if one was made.
    pub failure: Option<&'a Failure>,
    /// The resource that the operation calls: the one that it names, or the
    /// retrier's default.
    pub resource: Option<&'a str>,
    /// Operations inside each other, this one included: 1 where none is around.
    pub depth: u32,
    /// The product of the current attempt numbers of this operation (1 where it
    /// started none) and of those around it.
    pub product: u32,
}

/// The operation's future was dropped, or its body panicked.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Cancelled<'a> {
    /// The operation.
    pub operation: &'a OperationId,
    /// Attempts started.
    pub attempts: u32,
    /// Since the start of attempt 1.
    pub elapsed: Duration,
    /// Whether an attempt was running; otherwise the operation was waiting.
    pub in_attempt: bool,
    /// Whether a panic went through.
    pub panicked: bool,
    /// What the last finished attempt failed with, if there was one.
    pub failure: Option<&'a Failure>,
    /// The resource that the operation calls: the one that it names, or the
    /// retrier's default.
    pub resource: Option<&'a str>,
}

impl Cancelled<'_> {
    /// Always [`Cancelled`](StopReason::Cancelled).
    pub const fn reason(&self) -> StopReason {
        StopReason::Cancelled
    }
}

/// The circuit breaker of a resource has another state.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct BreakerChanged<'a> {
    /// The resource.
    pub resource: &'a str,
    /// The state that it has now.
    pub state: BreakerState,
    /// How often it has opened since it was made.
    pub openings: u64,
}

/// What a circuit breaker lets through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BreakerState {
    /// Everything.
    Closed,
    /// Nothing.
    Open,
    /// A few probes.
    HalfOpen,
}

impl BreakerState {
    /// The state as a lower-case word, for logs and labels.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half_open",
        }
    }
}

impl fmt::Display for BreakerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The retry budget of a resource was asked for a retry.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct BudgetChanged<'a> {
    /// The resource.
    pub resource: &'a str,
    /// Whole tokens that are left for its callers, without the stock that a new
    /// one finds.
    pub tokens: u64,
    /// Whether it refused; otherwise the retry has its token.
    pub refused: bool,
}
