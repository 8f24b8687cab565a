//! Operations of a queue are handed out when they are due, each once.

use std::collections::HashSet;
use std::thread;
use std::time::Duration;

use super::subject::{
    DEADLINE, DELAY, HOUR, LEASE, QUEUE, SECOND, Subject, abandon, block_on, due, failed_with,
    waiting,
};
use crate::record::{Ended, New, Phase, RecordId};
use crate::store::Claimed;
use crate::{Failure, StopReason};

fn records(claimed: &[Claimed]) -> Vec<RecordId> {
    claimed.iter().map(|claimed| claimed.head.record).collect()
}

pub(super) fn what_is_due_the_earliest_first(subject: &Subject) {
    // The latest record is due first, and the earliest last.
    let mut heads = Vec::new();
    for (key, waits) in [("a", 30), ("b", 20), ("c", 10)] {
        let policy = waiting(3, Duration::from_secs(waits));
        subject.begin(New { policy, ..subject.queued(key) });
        let head = subject.claim_one();
        heads.push(subject.fail(&head, false, Failure::transient()));
    }
    subject.advance(DELAY * 3);
    let expected: Vec<_> = heads.iter().rev().map(|head| head.record).collect();
    assert_eq!(
        records(&subject.claim(10)),
        expected,
        "what is due earliest is handed out first, whenever it was made"
    );
}

pub(super) fn a_long_wait_before_a_short_one(subject: &Subject) {
    let policy = waiting(3, HOUR);
    let long = subject.begin(New { policy, ..subject.queued("long") });
    let head = subject.claim_one();
    subject.fail(&head, false, Failure::transient());
    let short = subject.begin(subject.queued("short"));
    let head = subject.claim_one();
    subject.fail(&head, false, Failure::transient());
    assert_eq!(records(&subject.claim(10)), [], "what waits is not handed out");
    subject.advance(DELAY - Duration::from_nanos(1));
    assert_eq!(records(&subject.claim(10)), [], "nothing is handed out before its time");
    subject.advance(Duration::from_nanos(1));
    let due = records(&subject.claim(10));
    assert_eq!(due, [short.record], "a long wait holds back no short one behind it");
    subject.advance(HOUR);
    let due = records(&subject.claim(10));
    assert_eq!(due, [long.record], "and is over in its own time");
}

pub(super) fn as_many_as_asked(subject: &Subject) {
    let mut expected = Vec::new();
    for key in ["a", "b", "c", "d", "e"] {
        expected.push(subject.begin(subject.queued(key)).record);
        subject.advance(SECOND);
    }
    assert_eq!(records(&subject.claim(0)), [], "a claim of none takes none");
    let mut batches = Vec::new();
    for size in [2, 2, 1, 0] {
        let batch = records(&subject.claim(2));
        assert_eq!(batch.len(), size, "a claim takes as many as are due, and as were asked for");
        batches.extend(batch);
    }
    assert_eq!(batches, expected, "the earliest first, over several claims too");
}

pub(super) fn each_once(subject: &Subject) {
    const OPERATIONS: usize = 100;
    let made: HashSet<_> =
        (0..OPERATIONS).map(|n| subject.begin(subject.queued(&n.to_string())).record).collect();
    let store = subject.store();
    let work = || {
        let mut claimed = Vec::new();
        loop {
            match block_on("`claim`", store.claim(due(QUEUE, 7))) {
                Ok(batch) if batch.is_empty() => return claimed,
                Ok(batch) => claimed.extend(batch),
                Err(error) => panic!("`claim` failed: {error}"),
            }
        }
    };
    let claimed: Vec<Claimed> = thread::scope(|scope| {
        let workers: Vec<_> = (0..8).map(|_| scope.spawn(work)).collect();
        let join = |worker: thread::ScopedJoinHandle<'_, _>| {
            worker.join().unwrap_or_else(|_| panic!("a worker panicked"))
        };
        workers.into_iter().flat_map(join).collect()
    });
    assert_eq!(claimed.len(), OPERATIONS, "workers at once are handed each operation once");
    assert_eq!(records(&claimed).into_iter().collect::<HashSet<_>>(), made, "and every one");
    for Claimed { head, .. } in &claimed {
        assert_eq!((head.lease.epoch, head.started), (1, 1), "one claim is one attempt");
        assert_eq!(subject.verified(head.record).head(), head);
    }
}

pub(super) fn the_attempt_is_charged(subject: &Subject) {
    let new = subject.queued("order-1");
    subject.begin(new.clone());
    subject.advance(SECOND);
    let due = due(QUEUE, 1);
    let holder = due.holder;
    let mut claimed = subject.answer("`claim`", subject.store().claim(due));
    let Some(Claimed { head, arguments }) = claimed.pop() else {
        panic!("an operation is due, and `claim` gave none");
    };
    assert_eq!(arguments, new.arguments, "an operation is handed out with its arguments");
    assert_eq!(head.lease.epoch, 1, "every claim has an epoch of its own");
    assert_eq!(head.lease.held, Some((holder, subject.now().plus(LEASE))));
    assert_eq!(
        (head.phase, head.started, head.attempts()),
        (Phase::Running, 1, 1),
        "the attempt is charged in the transaction that claims it: a crash is paid for",
    );
    assert_eq!(subject.kinds(head.record), ["enqueued", "attempt_started"]);
}

pub(super) fn queues_are_apart(subject: &Subject) {
    subject.begin(subject.operation("a"));
    let refunds = New { queue: "refunds".to_owned(), ..subject.operation("b") };
    let refunds = subject.begin(refunds);
    subject.advance(HOUR);
    assert_eq!(records(&subject.claim(10)), [], "a queue hands out its own operations");
    assert_eq!(
        records(&subject.claim_of("", 10)),
        [],
        "an operation of no queue is gone on with by its own call, and never handed out",
    );
    assert_eq!(records(&subject.claim_of("refunds", 10)), [refunds.record]);
}

pub(super) fn what_is_free_alone(subject: &Subject) {
    let done = subject.begin(subject.queued("done"));
    let head = subject.claim_one();
    subject.succeed(&head, "1");
    let held = subject.begin(subject.queued("held"));
    subject.claim_one();
    subject.advance(LEASE * 2);
    assert_eq!(
        records(&subject.claim(10)),
        [],
        "a lease that is over is judged by `reclaim` first: its attempt has failed",
    );
    assert_eq!(subject.reclaim(10).len(), 1);
    assert_eq!(records(&subject.claim(10)), [], "after which it waits as after any failure");
    subject.advance(DELAY);
    assert_eq!(records(&subject.claim(10)), [held.record]);
    assert_eq!(subject.verified(done.record).head().phase, Phase::Done, "what is done stays so");
}

pub(super) fn over_its_deadline_is_dead(subject: &Subject) {
    let late = subject.begin(subject.queued("late"));
    let head = subject.claim_one();
    subject.fail(&head, false, Failure::transient());
    subject.advance(DEADLINE);
    assert_eq!(records(&subject.claim(10)), [], "an attempt without time left is not handed out");
    let head = subject.verified(late.record).head().clone();
    let reason = head.stop.as_ref().map(|stop| stop.reason);
    assert_eq!(
        (head.phase, reason),
        (Phase::Dead, Some(StopReason::DeadlineExceeded)),
        "a claim kills what is over its deadline",
    );
    assert_eq!(head.attempts(), 1, "and charges no attempt");
    assert_eq!(head.lease.held, None, "and nobody holds it");
    assert_eq!(head.last_error.as_deref(), Some("no answer"), "and its last error stays");
    assert_eq!(head.elapsed, DEADLINE, "no more time is charged than was left");
}

pub(super) fn a_queue_takes_no_time(subject: &Subject) {
    subject.begin(subject.queued("order-1"));
    subject.advance(DEADLINE * 100);
    let head = subject.claim_one();
    assert_eq!(
        (head.started, head.elapsed),
        (1, Duration::ZERO),
        "the deadline runs from the start of attempt 1, however long the queue was",
    );
}

pub(super) fn no_number_twice(subject: &Subject) {
    let record = subject.begin(subject.queued("order-1")).record;
    // Never polled: given back. Its number is not.
    let head = subject.claim_one();
    let head = subject.wrote(record, abandon(&head, None));
    assert_eq!((head.started, head.attempts()), (1, 0), "an attempt that was not polled is free");
    // Cut: counts.
    let head = subject.claim_one();
    assert_eq!((head.started, head.attempts()), (2, 1), "and its number is not used again");
    let cut = failed_with(&head, Failure::timeout(), None);
    subject.append(&head, false, cut);
    subject.advance(DELAY);
    // Its worker crashes: counts.
    let head = subject.claim_one();
    assert_eq!((head.started, head.attempts()), (3, 2));
    subject.advance(LEASE);
    assert_eq!(subject.reclaim(1).len(), 1, "a lease is over at its end");
    subject.advance(DELAY);
    // Dropped: counts, and was the last.
    let head = subject.claim_one();
    assert_eq!((head.started, head.attempts()), (4, 3));
    let head = subject.wrote(record, abandon(&head, Some(Ended::Dropped)));
    let reason = head.stop.as_ref().map(|stop| stop.reason);
    assert_eq!((head.phase, reason), (Phase::Dead, Some(StopReason::AttemptsExhausted)));
    assert_eq!(
        (head.started, head.released, head.attempts(), head.crashes),
        (4, 1, 3, 1),
        "all that are allowed are charged, and not one more",
    );
    assert_eq!(records(&subject.claim(10)), []);
}
