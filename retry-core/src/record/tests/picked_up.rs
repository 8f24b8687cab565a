//! What goes on after a while.

use super::*;

#[test]
fn a_queue_takes_no_time_and_a_wait_does() {
    let mut kept = Kept::begin(&New { held: None, started: false, ..new() });
    kept.pass(3600 * SECOND);
    kept.taken_over();
    assert_eq!(kept.head.elapsed, Duration::ZERO, "the deadline runs from the first attempt");
    kept.starts();
    kept.fails(Failure::transient());
    kept.pass(3 * SECOND);
    let epoch = kept.head.lease.epoch;
    let until = kept.head.lease.held.unwrap().1;
    let take_over = Change::TakeOver { epoch, holder: Holder::new(), lease: LEASE };
    assert_eq!(kept.apply(take_over), Err(Refused::InFlight { until }));
    kept.apply(Change::leave(kept.fence(), Vec::new())).unwrap();
    kept.taken_over();
    assert_eq!(kept.head.elapsed, 4 * SECOND);
    assert_eq!(kept.head.planned, Some(11 * SECOND), "and the wait is as it was");
    kept.read().unwrap().replay().unwrap();
}

#[test]
fn the_time_since_a_deferral_before_the_first_attempt_counts() {
    use crate::decide::{OnRefusal, Refusal};
    let mut kept = Kept::begin(&New { started: false, ..new() });
    let refusal = Refusal::breaker(Some(5 * SECOND)).on_refusal(OnRefusal::Defer);
    let deferred = kept.before_attempt(Duration::ZERO, Situation::new().refused(refusal));
    kept.apply(Change::leave(kept.fence(), vec![deferred])).unwrap();
    kept.pass(7 * SECOND);
    kept.taken_over();
    assert_eq!(kept.head.elapsed, 7 * SECOND);
}

#[test]
fn no_more_is_charged_than_is_left() {
    let mut kept = Kept::begin(&new());
    kept.pass(Duration::MAX);
    kept.taken_over();
    assert_eq!(kept.head.elapsed, 600 * SECOND);
    assert_eq!(
        (kept.head.phase, kept.head.stop.as_ref().unwrap().reason),
        (Phase::Dead, crate::StopReason::DeadlineExceeded),
    );
    kept.read().unwrap().replay().unwrap();
}

#[test]
fn a_clock_that_runs_back_writes_nothing_earlier() {
    let mut kept = Kept::begin(&new());
    kept.fails(Failure::transient());
    let last = kept.head.updated_at;
    kept.now = Timestamp::from_nanos(0);
    kept.starts();
    assert_eq!(kept.head.updated_at, last.plus(Duration::ZERO));
    let until = kept.head.lease.held.unwrap().1;
    let change = Change::Heartbeat { fence: kept.fence(), lease: SECOND };
    kept.apply(change).unwrap();
    assert_eq!(kept.head.lease.held.unwrap().1, until, "nor does a lease become older");
    kept.read().unwrap();
}

#[test]
fn a_claim_that_can_go_on_no_more_holds_nothing() {
    let queued = New { queue: "q".to_owned(), held: None, started: false, ..new() };
    let claim = || Change::Claim { holder: Holder::new(), lease: LEASE };
    let mut kept = Kept::begin(&queued);
    kept.apply(claim()).unwrap();
    let change = Change::Abandon {
        fence: kept.fence(),
        ended: Some(Ended::Dropped),
        elapsed: SECOND,
        situation: Situation::new(),
    };
    kept.apply(change).unwrap();
    assert_eq!(kept.apply(claim()), Err(Refused::NotDue));
    kept.pass(1000 * SECOND);
    kept.apply(claim()).unwrap();
    assert_eq!((kept.head.phase, kept.head.lease.held), (Phase::Dead, None));
    assert_eq!(kept.head.attempts(), 1);
    kept.read().unwrap().replay().unwrap();
}

#[test]
fn an_operation_of_no_queue_is_never_claimed() {
    let mut kept = Kept::begin(&New { held: None, started: false, ..new() });
    kept.pass(3600 * SECOND);
    let claim = Change::Claim { holder: Holder::new(), lease: LEASE };
    assert_eq!(kept.apply(claim), Err(Refused::NotDue));
}

#[test]
fn a_policy_that_could_not_be_read_back_begins_nothing() {
    for policy in [
        Policy::new(0, SECOND),
        Policy::new(1, Duration::ZERO),
        Policy::new(3, 60 * SECOND).backoff(Backoff::custom(|_| SECOND)),
    ] {
        let refused = New { policy, ..new() }.apply(BEGIN).unwrap_err();
        assert!(matches!(refused, RecordError::Unwritable { what: "the policy", .. }), "{refused}");
    }
}
