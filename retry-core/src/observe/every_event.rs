//! One of each event, for the tests of what hears them.

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
        decision: &Decision::Stop(stop),
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
