//! One of each event, for the tests of what hears them.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{
    AttemptFailed, AttemptStarted, BreakerChanged, BreakerState, BudgetChanged, Cancelled,
    Deferred, Observer, OperationStopped, Succeeded,
};
use crate::classify::Failure;
use crate::decide::Decision;
use crate::operation_id::OperationId;
use crate::policy::Policy;
use crate::stop::{Stop, StopReason};

const SECOND: Duration = Duration::from_secs(1);

/// No field is at its default.
pub(super) fn tell_all(observer: &dyn Observer) {
    let operation = &OperationId::from("payments.charge/e3c4b417-f22e-8d73-b6ed-08fd2be399ec");
    let (resource, elapsed) = (Some("gateway"), 3 * SECOND);
    let failure = &Failure::transient().with_code(503).after(SECOND);
    let stop = Stop::new(StopReason::BudgetExhausted);
    observer.attempt_started(&AttemptStarted {
        operation,
        attempt: 2,
        elapsed,
        waited: SECOND,
        policy: &Policy::new(7, 60 * SECOND),
        resource,
        depth: 2,
        product: 4,
    });
    observer.attempt_failed(&AttemptFailed {
        operation,
        attempt: 2,
        elapsed,
        failure,
        error: Some(&"busy"),
        decision: &Decision::Stop(stop.clone()),
        resource,
        depth: 2,
        product: 4,
    });
    observer.deferred(&Deferred {
        operation,
        attempts: 2,
        elapsed,
        reason: StopReason::CircuitOpen,
        until: 9 * SECOND,
        resource,
    });
    observer.succeeded(&Succeeded { operation, attempts: 2, elapsed, resource });
    observer.stopped(&OperationStopped {
        operation,
        attempts: 2,
        elapsed,
        stop: &stop,
        failure: Some(failure),
        resource,
        depth: 2,
        product: 4,
    });
    observer.cancelled(&Cancelled {
        operation,
        attempts: 2,
        elapsed,
        in_attempt: true,
        panicked: true,
        failure: Some(failure),
        resource,
    });
    let state = BreakerState::HalfOpen;
    observer.breaker_changed(&BreakerChanged { resource: "gateway", state, openings: 5 });
    observer.budget_changed(&BudgetChanged { resource: "gateway", tokens: 6, refused: true });
}

/// Lines down all that it hears, and panics on it if it is told to.
#[derive(Clone, Default)]
pub(super) struct Lines {
    lines: Arc<Mutex<Vec<String>>>,
    panics: bool,
}

impl Lines {
    pub(super) fn that_panics() -> Self {
        Self { panics: true, ..Self::default() }
    }

    pub(super) fn lines(&self) -> Vec<String> {
        self.lock().clone()
    }

    /// A panic while it is held poisons it.
    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, event: &dyn fmt::Debug) {
        self.lock().push(format!("{event:?}"));
        assert!(!self.panics, "the observer's own");
    }
}

impl Observer for Lines {
    fn attempt_started(&self, event: &AttemptStarted<'_>) {
        self.write(event);
    }

    fn attempt_failed(&self, event: &AttemptFailed<'_>) {
        self.write(event);
    }

    fn deferred(&self, event: &Deferred<'_>) {
        self.write(event);
    }

    fn succeeded(&self, event: &Succeeded<'_>) {
        self.write(event);
    }

    fn stopped(&self, event: &OperationStopped<'_>) {
        self.write(event);
    }

    fn cancelled(&self, event: &Cancelled<'_>) {
        self.write(event);
    }

    fn breaker_changed(&self, event: &BreakerChanged<'_>) {
        self.write(event);
    }

    fn budget_changed(&self, event: &BudgetChanged<'_>) {
        self.write(event);
    }
}
