//! An attempt ends: with a result, a wait, or a stop.

use super::subject::{
    DEADLINE, DELAY, SECOND, Subject, before_attempt, failed, failed_with, fence, policy,
    succeeded, take_over,
};
use crate::decide::{OnRefusal, Refusal, Situation, decide, planned};
use crate::record::{Change, Event, Head, New, Phase, RecordError, Refused};
use crate::{Failure, Safety, StopReason};

fn reason(head: &Head) -> Option<StopReason> {
    head.stop.as_ref().map(|stop| stop.reason)
}

pub(super) fn a_result_is_recorded_once(subject: &Subject) {
    let head = subject.begin(subject.running("order-1"));
    let done = subject.succeed(&head, r#"{"receipt":1}"#);
    assert_eq!((done.phase, done.lease.held), (Phase::Done, None), "a result ends the lease");
    subject.refused(
        head.record,
        succeeded(&head, r#"{"receipt":2}"#),
        &Refused::Fenced,
        "a result is recorded once: a holder that is late drops its own",
    );
    subject.refused(
        head.record,
        take_over(&done),
        &Refused::Settled(Phase::Done),
        "nobody goes on with what is done",
    );
    let found = subject.find(&head.operation);
    let found = found.unwrap_or_else(|| panic!("what is done is found for as long as it is kept"));
    assert_eq!(found.result(), Some(r#"{"receipt":1}"#));
    assert_eq!(
        subject.kinds(head.record),
        ["enqueued", "attempt_started", "attempt_finished", "result_recorded"],
    );
}

pub(super) fn a_large_result_comes_back(subject: &Subject) {
    let head = subject.begin(subject.running("order-1"));
    let result = "x".repeat(subject.store().limits().result);
    subject.succeed(&head, &result);
    let record = subject.verified(head.record);
    assert_eq!(
        record.result().map(str::len),
        Some(result.len()),
        "a result within the limit is kept"
    );
}

pub(super) fn a_retry_is_parked(subject: &Subject) {
    let head = subject.begin(subject.running("order-1"));
    subject.advance(SECOND);
    let head = subject.fail(&head, false, Failure::transient());
    assert_eq!((head.phase, head.lease.held), (Phase::Parked, None));
    assert_eq!(head.planned, Some(SECOND + DELAY), "the wait is kept before a timer is armed");
    assert_eq!(head.due_at, subject.now().plus(DELAY));
    assert_eq!(head.last_error.as_deref(), Some("no answer"));
}

pub(super) fn a_retry_under_the_lease(subject: &Subject) {
    let head = subject.begin(subject.running("order-1"));
    let lease = head.lease;
    let head = subject.fail(&head, true, Failure::transient());
    assert_eq!((head.phase, head.lease), (Phase::Parked, lease), "a call waits under its lease");
    subject.advance(DELAY);
    let event = Event::AttemptStarted { attempt: 2, elapsed: SECOND + DELAY };
    let head = subject.append(&head, true, vec![event]);
    assert_eq!((head.phase, head.started, head.planned), (Phase::Running, 2, None));
}

pub(super) fn a_deferral_has_its_own_count(subject: &Subject) {
    let record = subject.begin(New { policy: policy(1), ..subject.queued("order-1") }).record;
    for deferrals in 1..=3_u32 {
        let head = subject.claim_one();
        assert_eq!((head.started, head.attempts()), (deferrals, 1));
        // The worker asks the breaker before it polls anything: not now.
        let released = Event::Released { attempt: head.started };
        let mut free = head.clone();
        let change = Change::Append {
            fence: fence(&head),
            events: vec![released.clone()],
            keeps: true,
            result: None,
        };
        if let Err(refused) = change.apply(&mut free, subject.now()) {
            panic!("an attempt that was not polled is given back: {refused:?}");
        }
        let refusal = Refusal::breaker(Some(free.elapsed + DELAY))
            .on_refusal(OnRefusal::Defer)
            .deferrals(head.deferrals);
        let deferred = before_attempt(&free, Situation::new().refused(refusal));
        let head = subject.append(&head, false, vec![released, deferred]);
        assert_eq!(
            (head.phase, head.deferrals, head.attempts(), head.due_reason),
            (Phase::Parked, deferrals, 0, Some(StopReason::CircuitOpen)),
            "a deferral counts as one, and costs no attempt",
        );
        subject.advance(DELAY);
    }
    let head = subject.claim_one();
    subject.succeed(&head, "1");
    assert_eq!(
        subject.verified(record).head().deferrals,
        3,
        "a deferral is not forgotten when an attempt starts"
    );
}

pub(super) fn the_last_error_stays_when_dead(subject: &Subject) {
    let head = subject.begin(subject.running("order-1"));
    let head = subject.fail(&head, true, Failure::transient());
    // The second attempt is cut by the deadline, and has no error of its own.
    let cut = Head { elapsed: DEADLINE - SECOND, ..subject.start(&head) };
    let head = subject.append(&cut, false, failed_with(&cut, Failure::timeout(), None));
    assert_eq!((head.phase, reason(&head)), (Phase::Dead, Some(StopReason::DeadlineExceeded)));
    assert_eq!(
        head.last_error.as_deref(),
        Some("no answer"),
        "the last error that an attempt gave stays, whatever ends the operation",
    );
    assert_eq!(head.lease.held, None, "what is dead is held by nobody");
    let stop = head.stop.as_ref().map(|stop| stop.text.is_empty());
    assert_eq!(stop, Some(false), "a stop is kept with its text");
    subject.refused(
        head.record,
        take_over(&head),
        &Refused::Settled(Phase::Dead),
        "nobody goes on with what is dead",
    );
}

pub(super) fn the_last_error_stays_in_review(subject: &Subject) {
    let new = New { safety: Safety::AtMostOnce, ..subject.running("order-1") };
    let head = subject.begin(new);
    let head = subject.fail(&head, true, Failure::transient());
    assert_eq!((head.phase, reason(&head)), (Phase::Review, Some(StopReason::ManualReview)));
    assert_eq!(head.last_error.as_deref(), Some("no answer"), "the evidence stays");
    assert_eq!(head.lease.held, None, "what is in review is held by nobody");
    subject.refused(
        head.record,
        take_over(&head),
        &Refused::Settled(Phase::Review),
        "nobody goes on with what is in review",
    );
}

pub(super) fn what_is_not_final_goes_on(subject: &Subject) {
    let head = subject.begin(subject.running("order-1"));
    // Retries are switched off when the attempt fails.
    let (failure, situation) = (Failure::transient(), Situation::new().disabled(true));
    let elapsed = head.elapsed + SECOND;
    let mut ledger = head.ledger();
    ledger.attempt_failed(elapsed, &failure);
    let situation = situation.safety(head.safety);
    let decision = decide(&head.policy, &ledger, &situation, &head.operation, Some(&failure));
    let planned = planned(&head.policy, &ledger, &situation, &head.operation, &failure);
    assert_eq!(planned, Some(SECOND + DELAY), "the wait is computed all the same");
    let finished = Event::AttemptFinished {
        attempt: 1,
        elapsed,
        ended: crate::record::Ended::Failed,
        failure: Some(failure),
        error: None,
        situation: Situation::new().disabled(true),
    };
    let Head { policy, operation, .. } = &head;
    let parked = Event::of_failure(&decision, policy, &ledger, &situation, operation, &failure);
    let head = subject.append(&head, false, [finished].into_iter().chain(parked).collect());
    assert_eq!(
        (head.phase, head.due_reason, head.planned, head.lease.held),
        (Phase::Parked, Some(StopReason::Disabled), planned, None),
        "a stop that is not final leaves its wait planned",
    );
    let head = subject.wrote(head.record, take_over(&head));
    assert_eq!(
        (head.phase, head.planned, head.crashes),
        (Phase::Parked, planned, 0),
        "and the same call goes on with it",
    );
}

pub(super) fn no_decision_but_the_pure_one(subject: &Subject) {
    let head = subject.begin(New { policy: policy(1), ..subject.running("order-1") });
    let append = |events, result: Option<&str>| Change::Append {
        fence: fence(&head),
        events,
        keeps: true,
        result: result.map(str::to_owned),
    };
    let expect = |events: Vec<Event>, result: Option<&str>, what: &str| {
        let before = subject.verified(head.record);
        match subject.write(head.record, append(events, result)) {
            Err(Refused::Illegal(RecordError::Undecided { .. } | RecordError::Illegal { .. })) => {}
            answer => panic!("{what} is refused as illegal, and gave {answer:?}"),
        }
        assert_eq!(subject.verified(head.record), before, "a refused change writes nothing");
    };
    let finished = failed(&head, Failure::transient()).swap_remove(0);
    let second = Event::AttemptStarted { attempt: 2, elapsed: SECOND };
    let value = Event::succeeded(1, SECOND);
    expect(vec![finished.clone()], None, "a failure that nothing was decided on");
    expect(vec![finished, second.clone()], None, "an attempt over the limit");
    expect(vec![value.clone(), second], None, "an attempt after a success");
    expect(vec![value.clone()], None, "a success whose result is not kept");
    let recorded = Event::result_recorded("1");
    expect(vec![recorded.clone()], Some("1"), "a result without an attempt that gave it");
    expect(vec![value.clone(), recorded.clone()], None, "a result that is not there");
    expect(vec![value, recorded], Some("2"), "another result than the entry tells");
    subject.append(&head, false, failed(&head, Failure::transient()));
    let ready = New { started: false, ..subject.running("order-2") };
    let ready = subject.begin(ready);
    let change = Change::Append {
        fence: fence(&ready),
        events: vec![Event::result_recorded("1")],
        keeps: true,
        result: Some("1".to_owned()),
    };
    match subject.write(ready.record, change) {
        Err(Refused::Illegal(RecordError::Undecided { .. })) => {}
        answer => panic!("a result without any attempt is refused, and gave {answer:?}"),
    }
}
