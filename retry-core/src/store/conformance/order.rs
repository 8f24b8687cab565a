//! Writes take effect in the order in which they are asked for.

use super::subject::{
    DELAY, LEASE, SECOND, Subject, abandon, fence, heartbeat, succeeded, take_over,
};
use crate::record::{Change, Ended, Event, Head, Phase, Refused};
use crate::store::{Enqueued, Write};

fn write(head: &Head, change: Change) -> Write {
    Write { record: head.record, change }
}

fn started(head: &Head) -> Change {
    Change::Append {
        fence: fence(head),
        events: vec![Event::AttemptStarted { attempt: head.started + 1, elapsed: head.elapsed }],
        keeps: true,
        result: None,
    }
}

pub(super) fn answers_in_order(subject: &Subject) {
    assert_eq!(subject.commit(Vec::new()), [], "a commit of nothing answers nothing");
    let heads: Vec<_> =
        ["a", "b", "c"].map(|key| subject.begin(subject.running(key))).into_iter().collect();
    // Against the order in which they were made.
    let writes = heads.iter().rev().map(|head| write(head, heartbeat(head, LEASE * 2))).collect();
    let answers = subject.commit(writes);
    let answered: Vec<_> = answers.iter().flatten().map(|head| head.record).collect();
    let expected: Vec<_> = heads.iter().rev().map(|head| head.record).collect();
    assert_eq!(answered, expected, "answers come in the order of the writes");
}

pub(super) fn a_refusal_holds_nothing_back(subject: &Subject) {
    let one = subject.begin(subject.running("one"));
    let free = subject.begin(subject.operation("free"));
    let two = subject.begin(subject.running("two"));
    let missing = Write { record: subject.record(), change: take_over(&free) };
    let stale = Change::Heartbeat { fence: fence(&one), lease: LEASE };
    let illegal = Change::Append {
        fence: fence(&two),
        events: vec![Event::LeaseLost {}, Event::AttemptStarted { attempt: 9, elapsed: SECOND }],
        keeps: true,
        result: None,
    };
    let answers = subject.commit(vec![
        missing,
        write(&one, succeeded(&one, "1")),
        write(&two, illegal),
        Write { record: free.record, change: stale },
        write(&two, succeeded(&two, "2")),
    ]);
    let phases: Vec<_> =
        answers.iter().map(|answer| answer.as_ref().ok().map(|head| head.phase)).collect();
    assert_eq!(
        phases,
        [None, Some(Phase::Done), None, None, Some(Phase::Done)],
        "a write that is refused holds back no other: {answers:?}",
    );
    assert_eq!(answers[0], Err(Refused::Missing));
    assert_eq!(
        subject.kinds(two.record),
        ["enqueued", "attempt_started", "attempt_finished", "result_recorded"],
        "of a change that is refused half-way nothing is kept",
    );
}

pub(super) fn one_record_twice(subject: &Subject) {
    let free = subject.begin(subject.operation("order-1"));
    let change = take_over(&free);
    let mut taken = free.clone();
    if let Err(refused) = change.clone().apply(&mut taken, subject.now()) {
        panic!("a free operation can be taken over: {refused:?}");
    }
    let running = Head { started: 1, ..taken.clone() };
    let answers = subject.commit(vec![
        write(&free, change),
        write(&free, started(&taken)),
        write(&free, succeeded(&running, "1")),
        write(&free, succeeded(&running, "2")),
    ]);
    assert_eq!(answers[3], Err(Refused::Fenced), "the first of two results is kept");
    let phases: Vec<_> = answers.iter().flatten().map(|head| head.phase).collect();
    assert_eq!(
        phases,
        [Phase::Ready, Phase::Running, Phase::Done],
        "each write of a commit finds what those before it have left",
    );
}

pub(super) fn more_writes_than_one_commit_takes(subject: &Subject) {
    const WRITES: usize = 300;
    let heads: Vec<_> =
        (0..WRITES).map(|n| subject.begin(subject.running(&n.to_string()))).collect();
    let writes = heads.iter().map(|head| write(head, succeeded(head, "1"))).collect();
    let answers = subject.commit(writes);
    let done = answers.iter().flatten().filter(|head| head.phase == Phase::Done).count();
    assert_eq!(done, WRITES, "a commit may have any number of writes");
}

pub(super) fn a_post_is_behind(subject: &Subject) {
    let head = subject.begin(subject.running("order-1"));
    // Asked for in this order, and awaited in another.
    let first = subject.store().commit(vec![write(&head, heartbeat(&head, LEASE * 4))]);
    subject.store().post(write(&head, abandon(&head, Some(Ended::Dropped))));
    let after = subject.store().commit(vec![write(&head, take_over(&head))]);
    let after = subject.answer("`commit`", after);
    let first = subject.answer("`commit`", first);
    assert!(
        matches!(&first[..], [Ok(first)] if first.lease.held.is_some()),
        "what was asked for before a post is done before it: {first:?}",
    );
    let [Ok(after)] = &after[..] else {
        panic!("what is asked for behind a post finds it done: {after:?}");
    };
    assert_eq!((after.phase, after.lease.epoch), (Phase::Parked, 2));
    assert_eq!(
        subject.kinds(head.record),
        ["enqueued", "attempt_started", "attempt_finished", "delay_chosen"],
        "each once",
    );
}

pub(super) fn a_post_is_behind_a_dropped_reply(subject: &Subject) {
    for key in ["a", "b", "c", "d"] {
        // A call that goes away at its first step, and again at its second.
        let new = subject.running(key);
        let (record, operation) = (new.record, new.operation.clone());
        let holder = new.held.map(|(holder, _)| holder);
        let fence_of = |epoch| match holder {
            Some(holder) => crate::record::Fence { epoch, holder },
            None => panic!("the call holds it"),
        };
        let gone = |epoch| Write {
            record,
            change: Change::Abandon {
                fence: fence_of(epoch),
                ended: None,
                elapsed: SECOND,
                situation: crate::Situation::new(),
            },
        };
        drop(subject.store().enqueue(new));
        subject.store().post(gone(1));
        subject.settle();
        let Some(kept) = subject.find(&operation) else {
            // It did not happen, which is as good.
            continue;
        };
        assert_eq!(
            (kept.head().phase, kept.head().lease.held, kept.head().attempts()),
            (Phase::Ready, None, 0),
            "a post is behind a write whose reply was dropped: nothing stays held or charged",
        );
        let change = Change::TakeOver { epoch: 1, holder: fence_of(2).holder, lease: LEASE };
        drop(subject.store().commit(vec![Write { record, change }]));
        subject.store().post(gone(2));
        subject.settle();
        assert_eq!(subject.verified(record).head().lease.held, None, "nor at a later step");
        assert!(matches!(
            subject.enqueue(subject.operation(key)),
            Enqueued::Existing(existing) if existing.head().record == record
        ));
    }
}

pub(super) fn a_post_that_is_refused(subject: &Subject) {
    let head = subject.begin(subject.running("order-1"));
    let done = subject.succeed(&head, "1");
    subject.store().post(write(&head, abandon(&head, Some(Ended::Dropped))));
    subject.store().post(Write { record: subject.record(), change: heartbeat(&head, LEASE) });
    subject.settle();
    assert_eq!(subject.verified(head.record).head(), &done, "a post that is refused does nothing");
    subject.advance(DELAY);
}
