//! An observer that remembers.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{
    AttemptFailed, AttemptStarted, Cancelled, Deferred, Observer, OperationStopped, Succeeded,
};
use crate::classify::Failure;
use crate::decide::Decision;
use crate::operation_id::OperationId;
use crate::policy::Policy;
use crate::stop::{Stop, StopReason};

/// Remembers every event of an operation, for tests and for showing what it did.
/// Clones share one memory, which grows until [`take`](Self::take) empties it.
///
/// ```
/// use std::time::Duration;
/// use retry_core::clock::{Clock, VirtualClock};
/// use retry_core::observe::Recorder;
/// use retry_core::{Failure, Operation, Policy, Retrier};
///
/// # futures::executor::block_on(async {
/// let recorder = Recorder::new();
/// let retrier = Retrier::builder().observer(recorder.clone()).build();
/// let operation = Operation::idempotent("prices.fetch", Policy::new(3, Duration::from_secs(5)))
///     .classify(|_: &&str| Failure::transient().with_code(503))
///     .with(&retrier);
/// let fetched = operation.run(|attempt| async move {
///     if attempt.number() < 2 { Err("busy") } else { Ok(7) }
/// });
/// assert_eq!(VirtualClock::new().scope(fetched).await.unwrap(), 7);
/// assert_eq!(recorder.story(recorder.operations().first().unwrap()), "\
/// prices.fetch#0000000000000000-1
///   attempt 1 at 0s
///     failed at 0s: transient, effect possible, other 503
///     waits 85.518066ms (computed, ceiling 100ms)
///   attempt 2 at 85.518066ms
///     succeeded at 85.518066ms after 2 attempts
/// ");
/// # });
/// ```
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    events: Arc<Mutex<Vec<(OperationId, Event)>>>,
}

/// One event, with the time since the start of attempt 1.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// The body is about to run.
    AttemptStarted {
        /// From 1.
        attempt: u32,
        /// Since the start of attempt 1.
        elapsed: Duration,
        /// The numbers that the operation began with, and keeps.
        policy: Policy,
    },
    /// An attempt failed, and the decision is made.
    AttemptFailed {
        /// From 1.
        attempt: u32,
        /// Since the start of attempt 1.
        elapsed: Duration,
        /// What the error means.
        failure: Failure,
        /// The error's text, where its type has one.
        error: Option<String>,
        /// What follows.
        decision: Decision,
    },
    /// The next attempt was refused for now, and its time is waited for.
    Deferred {
        /// Attempts started so far.
        attempts: u32,
        /// Since the start of attempt 1, or of the first deferral before it.
        elapsed: Duration,
        /// Who refused.
        reason: StopReason,
        /// When the attempt is asked for again, counted as `elapsed` is.
        until: Duration,
    },
    /// The operation has its result.
    Succeeded {
        /// Attempts that it took.
        attempts: u32,
        /// Since the start of attempt 1.
        elapsed: Duration,
    },
    /// The operation stopped for a reason.
    Stopped {
        /// Attempts started.
        attempts: u32,
        /// Since the start of attempt 1.
        elapsed: Duration,
        /// The reason, with its numbers.
        stop: Stop,
    },
    /// The operation's future was dropped, or its body panicked.
    Cancelled {
        /// Attempts started.
        attempts: u32,
        /// Since the start of attempt 1.
        elapsed: Duration,
        /// Whether an attempt was running.
        in_attempt: bool,
        /// What the last finished attempt failed with.
        failure: Option<Failure>,
    },
}

impl Recorder {
    /// A recorder that has heard nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// The events of one operation, in order.
    pub fn events(&self, operation: &OperationId) -> Vec<Event> {
        let events = self.lock();
        events.iter().filter(|(id, _)| id == operation).map(|(_, event)| event.clone()).collect()
    }

    /// The operations heard of, in the order of their first events.
    pub fn operations(&self) -> Vec<OperationId> {
        let mut seen = std::collections::HashSet::new();
        let events = self.lock();
        events.iter().filter(|(id, _)| seen.insert(id.clone())).map(|(id, _)| id.clone()).collect()
    }

    /// Everything heard so far, in order; the memory is empty afterwards.
    pub fn take(&self) -> Vec<(OperationId, Event)> {
        std::mem::take(&mut self.lock())
    }

    /// What an operation did, a line an event.
    pub fn story(&self, operation: &OperationId) -> String {
        let lines = self.events(operation).into_iter().map(|event| event.to_string());
        std::iter::once(operation.to_string()).chain(lines).map(|line| line + "\n").collect()
    }

    fn push(&self, operation: &OperationId, event: Event) {
        self.lock().push((operation.clone(), event));
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(OperationId, Event)>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Recorder {
    fn attempt_started(&self, event: &AttemptStarted<'_>) {
        let &AttemptStarted { operation, attempt, elapsed, policy, .. } = event;
        self.push(operation, Event::AttemptStarted { attempt, elapsed, policy: *policy });
    }

    fn attempt_failed(&self, event: &AttemptFailed<'_>) {
        let &AttemptFailed { operation, attempt, elapsed, failure, error, decision, .. } = event;
        let error = error.map(|error| error.to_string());
        let (failure, decision) = (*failure, decision.clone());
        self.push(operation, Event::AttemptFailed { attempt, elapsed, failure, error, decision });
    }

    fn deferred(&self, event: &Deferred<'_>) {
        let &Deferred { operation, attempts, elapsed, reason, until, .. } = event;
        self.push(operation, Event::Deferred { attempts, elapsed, reason, until });
    }

    fn succeeded(&self, event: &Succeeded<'_>) {
        let &Succeeded { operation, attempts, elapsed, .. } = event;
        self.push(operation, Event::Succeeded { attempts, elapsed });
    }

    fn stopped(&self, event: &OperationStopped<'_>) {
        let &OperationStopped { operation, attempts, elapsed, stop, .. } = event;
        self.push(operation, Event::Stopped { attempts, elapsed, stop: stop.clone() });
    }

    fn cancelled(&self, event: &Cancelled<'_>) {
        let &Cancelled { operation, attempts, elapsed, in_attempt, failure, .. } = event;
        let failure = failure.copied();
        self.push(operation, Event::Cancelled { attempts, elapsed, in_attempt, failure });
    }
}

/// One or two indented lines, without a line break at the end.
impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = |elapsed: &Duration| crate::nanos::Nanos::from_duration(*elapsed);
        match self {
            Self::AttemptStarted { attempt, elapsed, .. } => {
                write!(f, "  attempt {attempt} at {:?}", at(elapsed))
            }
            Self::AttemptFailed { elapsed, failure, error, decision, .. } => {
                write!(f, "    failed at {:?}: {failure}", at(elapsed))?;
                if let Some(error) = error {
                    write!(f, " ({error})")?;
                }
                let Decision::ScheduleRetry(wait) = decision else {
                    return Ok(());
                };
                write!(f, "\n    waits {:?} (", at(&wait.delay()))?;
                match wait.hint() {
                    _ if wait.is_deferred() => {
                        write!(f, "computed {:?}, then deferred)", at(&wait.computed()))
                    }
                    Some(hint) if hint > wait.computed() => write!(f, "asked for {hint:?})"),
                    _ => write!(f, "computed, ceiling {:?})", wait.ceiling()),
                }
            }
            Self::Deferred { elapsed, reason, until, .. } => {
                write!(f, "    deferred at {:?} until {:?}: {reason}", at(elapsed), at(until))
            }
            Self::Succeeded { attempts, elapsed } => {
                let s = if *attempts == 1 { "" } else { "s" };
                write!(f, "    succeeded at {:?} after {attempts} attempt{s}", at(elapsed))
            }
            Self::Stopped { elapsed, stop, .. } => {
                write!(f, "    stopped at {:?}: {}, {stop}", at(elapsed), stop.reason())
            }
            Self::Cancelled { elapsed, in_attempt, .. } => {
                let place = if *in_attempt { "in an attempt" } else { "while it waited" };
                write!(f, "    cancelled at {:?} {place}", at(elapsed))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deferral_has_a_line() {
        let recorder = Recorder::new();
        let operation = OperationId::from("prices.fetch");
        let second = Duration::from_secs(1);
        recorder.deferred(&Deferred {
            operation: &operation,
            attempts: 1,
            elapsed: second,
            reason: StopReason::BudgetExhausted,
            until: 3 * second,
            resource: Some("prices"),
        });
        let deferred = Event::Deferred {
            attempts: 1,
            elapsed: second,
            reason: StopReason::BudgetExhausted,
            until: 3 * second,
        };
        assert_eq!(recorder.events(&operation), [deferred]);
        let line = "    deferred at 1s until 3s: budget_exhausted\n";
        assert_eq!(recorder.story(&operation), format!("prices.fetch\n{line}"));
    }
}
