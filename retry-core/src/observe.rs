//! Hearing what operations do.

mod recorder;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use crate::classify::Failure;
use crate::decide::Decision;
use crate::operation_id::OperationId;
use crate::policy::Policy;
use crate::stop::Stop;

pub use recorder::{Event, Recorder};

/// Hears what operations do: for logs, metrics and tests.
///
/// Every method has an empty default. They run on the operation's own task and
/// must not block. One that panics harms neither the operation nor the other
/// observers.
///
/// An operation ends with exactly one of `succeeded`, `stopped` and
/// `cancelled`. One that was never polled tells nothing.
///
/// ```
/// use std::sync::atomic::{AtomicU32, Ordering};
/// use retry_core::Observer;
/// use retry_core::observe::AttemptFailed;
///
/// #[derive(Default)]
/// struct Retries(AtomicU32);
///
/// impl Observer for Retries {
///     fn attempt_failed(&self, event: &AttemptFailed<'_>) {
///         if event.will_retry() {
///             self.0.fetch_add(1, Ordering::Relaxed);
///         }
///     }
/// }
/// ```
pub trait Observer: Send + Sync + 'static {
    /// The body is about to run.
    fn attempt_started(&self, event: &AttemptStarted<'_>) {
        let _ = event;
    }

    /// The body failed, was cut, or gave a value that was rejected; the
    /// decision is made.
    fn attempt_failed(&self, event: &AttemptFailed<'_>) {
        let _ = event;
    }

    /// The operation has its result. Never called for a rejected value.
    fn succeeded(&self, event: &Succeeded<'_>) {
        let _ = event;
    }

    /// The operation stopped for a reason.
    fn stopped(&self, event: &OperationStopped<'_>) {
        let _ = event;
    }

    /// The operation's future was dropped, or its body panicked.
    fn cancelled(&self, event: &Cancelled<'_>) {
        let _ = event;
    }
}

impl<O: Observer + ?Sized> Observer for Arc<O> {
    fn attempt_started(&self, event: &AttemptStarted<'_>) {
        (**self).attempt_started(event);
    }

    fn attempt_failed(&self, event: &AttemptFailed<'_>) {
        (**self).attempt_failed(event);
    }

    fn succeeded(&self, event: &Succeeded<'_>) {
        (**self).succeeded(event);
    }

    fn stopped(&self, event: &OperationStopped<'_>) {
        (**self).stopped(event);
    }

    fn cancelled(&self, event: &Cancelled<'_>) {
        (**self).cancelled(event);
    }
}

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
    /// The policy that the operation began with, and keeps.
    pub policy: &'a Policy,
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
            .finish()
    }
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
}

impl Cancelled<'_> {
    /// Always [`Cancelled`](crate::StopReason::Cancelled).
    pub const fn reason(&self) -> crate::StopReason {
        crate::StopReason::Cancelled
    }
}

/// The observers of a retrier, each kept from harming the operation.
#[derive(Clone, Default)]
pub(crate) struct Observers(Vec<Arc<dyn Observer>>);

impl Observers {
    pub(crate) fn push(&mut self, observer: impl Observer) {
        self.0.push(Arc::new(observer));
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) const fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn tell(&self, event: impl Fn(&dyn Observer)) {
        for observer in &self.0 {
            // An observer that panics left only its own state behind.
            let _ = catch_unwind(AssertUnwindSafe(|| event(&**observer)));
        }
    }
}
