//! Who holds an operation extends its lease, or is found to be lost.

use std::time::Duration;

use super::subject::{
    DEADLINE, DELAY, HOUR, LEASE, SECOND, Subject, abandon, fence, heartbeat, policy, take_over,
    until,
};
use crate::record::{Ended, Event, Head, Holder, New, Phase, RecordId, Refused};
use crate::{Failure, Safety, StopReason};

const JUST: Duration = Duration::from_nanos(1);

fn reason(head: &Head) -> Option<StopReason> {
    head.stop.as_ref().map(|stop| stop.reason)
}

/// What the last attempt that finished ended with.
fn last_end(subject: &Subject, record: RecordId) -> Option<Ended> {
    let record = subject.verified(record);
    record.entries().iter().rev().find_map(|entry| match entry.event() {
        Event::AttemptFinished { ended, .. } => Some(*ended),
        _ => None,
    })
}

pub(super) fn a_heartbeat_extends(subject: &Subject) {
    let head = subject.begin(subject.running("order-1"));
    let mut seq = head.seq;
    for _ in 0..10 {
        subject.advance(LEASE - JUST);
        let head = subject.wrote(head.record, heartbeat(&head, LEASE));
        assert_eq!(until(&head), Some(subject.now().plus(LEASE)), "a lease lasts from now");
        assert_eq!((head.phase, head.lease.epoch), (Phase::Running, 1));
        assert_eq!(std::mem::replace(&mut seq, head.seq), head.seq, "a heartbeat is no entry");
        assert_eq!(subject.reclaim(10), [], "what is extended in time is not lost");
    }
    let done = subject.succeed(&head, "1");
    assert_eq!((done.crashes, done.attempts()), (0, 1), "a long attempt is one attempt");
}

pub(super) fn a_heartbeat_never_shortens(subject: &Subject) {
    let head = subject.begin(subject.running("order-1"));
    let before = until(&head);
    let head = subject.wrote(head.record, heartbeat(&head, SECOND));
    assert_eq!(until(&head), before, "a heartbeat never shortens a lease");
}

pub(super) fn a_late_holder_goes_on(subject: &Subject) {
    let head = subject.begin(subject.running("order-1"));
    subject.advance(LEASE * 2);
    let head = subject.wrote(head.record, heartbeat(&head, LEASE));
    assert_eq!(
        until(&head),
        Some(subject.now().plus(LEASE)),
        "a lease that is over, and that nobody took, is still its holder's",
    );
    subject.advance(LEASE * 2);
    let done = subject.succeed(&head, "1");
    assert_eq!(done.phase, Phase::Done, "nor is its result thrown away");
}

pub(super) fn reclaims_the_earliest_first(subject: &Subject) {
    let mut expected = Vec::new();
    // The latest record is lost first.
    for key in ["a", "b", "c", "d", "e"] {
        let lease = LEASE - SECOND * u32::try_from(expected.len()).unwrap_or(0);
        let held = Some((Holder::new(), lease));
        expected.push(subject.begin(New { held, ..subject.running(key) }).record);
    }
    expected.reverse();
    let live = New { held: Some((Holder::new(), HOUR)), ..subject.running("live") };
    let live = subject.begin(live);
    subject.begin(subject.operation("free"));
    assert_eq!(subject.reclaim(10), [], "a live lease is not reclaimed");
    subject.advance(LEASE - SECOND * 4 - JUST);
    assert_eq!(subject.reclaim(10), [], "a lease is over at its end, and not before");
    subject.advance(SECOND * 4 + JUST);
    assert_eq!(subject.reclaim(0), [], "as many as were asked for");
    let mut reclaimed = Vec::new();
    for size in [2, 2, 1, 0] {
        let batch = subject.reclaim(2);
        assert_eq!(batch.len(), size, "more than one batch is reclaimed in several");
        reclaimed.extend(batch.into_iter().map(|head| head.record));
    }
    assert_eq!(reclaimed, expected, "those whose lease ended first come first, each once");
    assert_eq!(subject.verified(live.record).head(), &live, "and no other is touched");
}

pub(super) fn a_crash_is_a_failed_attempt(subject: &Subject) {
    let head = subject.begin(subject.running("order-1"));
    subject.advance(LEASE);
    let heads = subject.reclaim(1);
    let [lost] = &heads[..] else { panic!("a lease is over at its end, and gave {heads:?}") };
    assert_eq!(
        (lost.phase, lost.attempts(), lost.crashes, lost.lease.held),
        (Phase::Parked, 1, 1, None),
        "a crash is charged, and waits as after any failure",
    );
    assert_eq!(lost.lease.epoch, 1, "a reclaim is no claim");
    assert_eq!(lost.planned, Some(LEASE + DELAY));
    assert_eq!(last_end(subject, head.record), Some(Ended::Crashed));
    assert_eq!(
        subject.kinds(head.record)[2..],
        ["lease_lost", "resumed", "attempt_finished", "delay_chosen"],
    );
}

pub(super) fn a_crash_on_the_last_attempt(subject: &Subject) {
    let head = subject.begin(New { policy: policy(2), ..subject.running("order-1") });
    let head = subject.fail(&head, true, Failure::transient());
    let head = subject.start(&head);
    subject.advance(LEASE);
    let heads = subject.reclaim(1);
    let [dead] = &heads[..] else { panic!("a lease is over at its end, and gave {heads:?}") };
    assert_eq!(
        (dead.phase, reason(dead), dead.attempts()),
        (Phase::Dead, Some(StopReason::AttemptsExhausted), 2),
        "a crash on the last attempt is the end, and no attempt too many",
    );
    assert_eq!(dead.last_error.as_deref(), Some("no answer"), "the last error stays");
    assert_eq!(last_end(subject, head.record), Some(Ended::Crashed));
    // The same, found by the same call instead.
    let head = subject.begin(New { policy: policy(1), ..subject.running("order-2") });
    subject.advance(LEASE);
    let dead = subject.wrote(head.record, take_over(&head));
    assert_eq!((dead.phase, reason(&dead)), (Phase::Dead, Some(StopReason::AttemptsExhausted)));
    assert_eq!(dead.lease.held, None, "what is dead is held by nobody, whoever found it");
}

pub(super) fn a_crash_of_at_most_once(subject: &Subject) {
    for (key, by_call) in [("order-1", false), ("order-2", true)] {
        let new = New { safety: Safety::AtMostOnce, ..subject.running(key) };
        let head = subject.begin(new);
        subject.advance(LEASE);
        let lost = match by_call {
            true => subject.wrote(head.record, take_over(&head)),
            false => match &subject.reclaim(1)[..] {
                [lost] => lost.clone(),
                heads => panic!("a lease is over at its end, and gave {heads:?}"),
            },
        };
        assert_eq!(
            (lost.phase, reason(&lost), lost.lease.held),
            (Phase::Review, Some(StopReason::ManualReview), None),
            "nobody can tell whether a crash took effect: a person decides",
        );
    }
}

pub(super) fn a_crash_in_a_wait(subject: &Subject) {
    let head = subject.begin(subject.running("order-1"));
    let head = subject.fail(&head, true, Failure::transient());
    subject.advance(LEASE);
    let heads = subject.reclaim(1);
    let [lost] = &heads[..] else { panic!("a lease is over at its end, and gave {heads:?}") };
    assert_eq!(
        (lost.phase, lost.attempts(), lost.crashes),
        (Phase::Parked, 1, 1),
        "a crash in a wait costs no attempt",
    );
    assert_eq!((lost.planned, lost.due_at), (head.planned, head.due_at), "the wait stays planned");
    assert_eq!(lost.elapsed, SECOND + LEASE, "and the time goes on");
}

pub(super) fn a_take_over_charges_the_time(subject: &Subject) {
    let head = subject.begin(subject.running("order-1"));
    let down = LEASE * 3;
    subject.advance(down);
    let taken = subject.wrote(head.record, take_over(&head));
    assert_eq!(taken.elapsed, down, "the time since the last entry is charged");
    assert_eq!((taken.crashes, taken.lease.epoch), (1, 2));
    assert_eq!(until(&taken), Some(subject.now().plus(LEASE)));
    let record = subject.verified(head.record);
    let charged: Vec<_> = record
        .entries()
        .iter()
        .filter_map(|entry| match entry.event() {
            Event::Resumed { charged } => Some(*charged),
            _ => None,
        })
        .collect();
    assert_eq!(charged, [down], "in one entry");
    assert_eq!(record.entries()[2].epoch(), 2, "a claim's entries are of its epoch");
}

pub(super) fn a_take_over_charges_what_is_left(subject: &Subject) {
    let head = subject.begin(subject.running("order-1"));
    let head = subject.fail(&head, false, Failure::transient());
    subject.advance(HOUR * 24);
    let taken = subject.wrote(head.record, take_over(&head));
    assert_eq!(taken.elapsed, DEADLINE, "no more is charged than was left");
    assert_eq!(taken.phase, Phase::Parked, "and the call is told that nothing is left of it");
    assert_eq!(taken.crashes, 0);
}

pub(super) fn a_take_over_of_what_is_free(subject: &Subject) {
    let head = subject.begin(subject.operation("order-1"));
    subject.advance(HOUR);
    let taken = subject.wrote(head.record, take_over(&head));
    assert_eq!(
        (taken.phase, taken.elapsed, taken.crashes, taken.seq),
        (Phase::Ready, Duration::ZERO, 0, 1),
        "before its first attempt nothing runs that could be charged",
    );
    assert_eq!(taken.lease.epoch, 1, "a claim without an entry has an epoch too");
    let taken = subject.start(&taken);
    let parked = subject.fail(&taken, false, Failure::transient());
    subject.advance(SECOND);
    let again = subject.wrote(parked.record, take_over(&parked));
    assert_eq!((again.crashes, again.elapsed), (0, SECOND * 2), "no holder was lost");
    assert_eq!((again.phase, again.planned), (Phase::Parked, parked.planned));
    assert_eq!(fence(&again).epoch, 2);
}

pub(super) fn abandoned_while_polled(subject: &Subject) {
    for (key, ended) in [("a", Ended::Dropped), ("b", Ended::Panicked)] {
        let head = subject.begin(subject.running(key));
        let left = subject.wrote(head.record, abandon(&head, Some(ended)));
        assert_eq!(
            (left.phase, left.attempts(), left.crashes, left.lease.held),
            (Phase::Parked, 1, 0, None),
            "an attempt that was polled and is gone has failed, and the lease ends",
        );
        assert_eq!(left.planned, Some(SECOND + DELAY));
        assert_eq!(last_end(subject, head.record), Some(ended));
    }
}

pub(super) fn abandoned_while_polled_at_most_once(subject: &Subject) {
    let new = New { safety: Safety::AtMostOnce, ..subject.running("order-1") };
    let head = subject.begin(new);
    let left = subject.wrote(head.record, abandon(&head, Some(Ended::Dropped)));
    assert_eq!(
        (left.phase, reason(&left), left.lease.held),
        (Phase::Review, Some(StopReason::ManualReview), None),
        "nobody can tell whether it took effect: a person decides",
    );
}

pub(super) fn abandoned_before_it_was_polled(subject: &Subject) {
    let new = New { safety: Safety::AtMostOnce, policy: policy(1), ..subject.running("order-1") };
    let head = subject.begin(new);
    let left = subject.wrote(head.record, abandon(&head, None));
    assert_eq!(
        (left.phase, left.started, left.attempts(), left.lease.held),
        (Phase::Ready, 1, 0, None),
        "an attempt that was never polled is given back",
    );
    assert_eq!(subject.kinds(head.record), ["enqueued", "attempt_started", "released"]);
    let taken = subject.wrote(head.record, take_over(&left));
    let again = subject.start(&taken);
    assert_eq!((again.started, again.attempts()), (2, 1), "its number is not used again");
}

pub(super) fn abandoned_in_a_wait(subject: &Subject) {
    let head = subject.begin(subject.running("order-1"));
    let parked = subject.fail(&head, true, Failure::transient());
    let mut held = parked.clone();
    for ended in [None, Some(Ended::Dropped)] {
        let left = subject.wrote(head.record, abandon(&held, ended));
        assert_eq!(left.lease.held, None, "a call that goes away in a wait ends its lease");
        assert_eq!(
            (left.phase, left.seq, left.planned, left.due_at),
            (Phase::Parked, parked.seq, parked.planned, parked.due_at),
            "and nothing else: no attempt was running",
        );
        held = subject.wrote(head.record, take_over(&left));
    }
    let missing = subject.record();
    let rule = "there is no such record";
    subject.refused(missing, abandon(&parked, None), &Refused::Missing, rule);
}
