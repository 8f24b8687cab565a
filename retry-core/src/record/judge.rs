//! What is decided about a record, as the event that keeps it: for a change that
//! decides, and for a replay that decides again.

use std::time::Duration;

use super::{Event, Head};
use crate::classify::Failure;
use crate::decide::{Situation, decide, decide_start};

/// What follows a failure, by the pure function, as the event that keeps it.
pub(super) fn judged(head: &Head, failure: &Failure, situation: &Situation) -> Option<Event> {
    let Head { policy, operation, .. } = head;
    let (ledger, situation) = (head.ledger(), situation.safety(head.safety));
    let decision = decide(policy, &ledger, &situation, operation, Some(failure));
    Event::of_failure(&decision, policy, &ledger, &situation, operation, failure)
}

/// Whether an attempt may start, by the pure function, as the event that keeps why
/// it may not; `None` where it may.
pub(super) fn judged_start(head: &Head, elapsed: Duration, situation: &Situation) -> Option<Event> {
    let mut ledger = head.ledger();
    ledger.reached(elapsed);
    let decision = decide_start(&head.policy, &ledger, &situation.safety(head.safety));
    Event::of_start(&decision, elapsed, situation.recorded(&head.policy))
}
