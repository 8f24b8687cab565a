//! What is forgotten by time, and what never is.

use std::time::Duration;

use super::subject::{HOUR, SECOND, Subject};
use crate::Failure;
use crate::record::{Head, New};

const JUST: Duration = Duration::from_nanos(1);

fn done(subject: &Subject, key: &str) -> Head {
    let head = subject.begin(subject.running(key));
    subject.succeed(&head, "1")
}

pub(super) fn what_is_done_after_its_time(subject: &Subject) {
    let head = done(subject, "order-1");
    let longer = New { keep: HOUR * 2, ..subject.running("order-2") };
    let longer = subject.begin(longer);
    let longer = subject.succeed(&longer, "2");
    subject.advance(HOUR - JUST);
    assert_eq!(subject.retain(10), 0, "nothing is removed before its time");
    subject.advance(JUST);
    assert_eq!(subject.retain(10), 1, "what is done is removed when it has expired");
    assert_eq!(subject.read(head.record), None, "with everything that it has");
    assert_eq!(subject.find(&head.operation), None);
    assert_eq!(subject.verified(longer.record).head(), &longer, "each after its own time");
    assert_eq!(subject.retain(10), 0);
    subject.begin(subject.running("order-1"));
}

pub(super) fn never_what_is_dead_or_in_review(subject: &Subject) {
    let dead = subject.begin(subject.running("dead"));
    let dead = subject.fail(&dead, false, Failure::permanent());
    let review = subject.begin(subject.running("review"));
    let review = subject.fail(&review, false, Failure::unknown());
    subject.advance(HOUR * 24 * 365);
    while subject.retain(1) > 0 {}
    for head in [&dead, &review] {
        assert_eq!(
            subject.verified(head.record).head(),
            head,
            "nothing that is dead or in review is removed by time",
        );
    }
    let found = subject.find(&review.operation).map(|found| found.head().record);
    assert_eq!(found, Some(review.record), "a review holds its key until a person has decided");
}

pub(super) fn the_keys_of_the_dead(subject: &Subject) {
    let dead = subject.begin(subject.running("dead"));
    let dead = subject.fail(&dead, false, Failure::permanent());
    subject.advance(HOUR - JUST);
    assert_eq!(subject.retain(10), 0);
    subject.advance(JUST);
    assert_eq!(subject.retain(10), 1, "the key of what is dead is free when that has expired");
    assert_eq!(subject.retain(10), 0, "once");
    assert_eq!(subject.find(&dead.operation), None);
    let next =
        subject.begin(New { operation: dead.operation.clone(), ..subject.operation("other") });
    assert_ne!(next.record, dead.record);
    assert_eq!(subject.verified(dead.record).head(), &dead, "and the record stays");
}

pub(super) fn as_many_as_asked_for(subject: &Subject) {
    let mut heads = Vec::new();
    for key in ["a", "b", "c", "d"] {
        heads.push(done(subject, key));
        subject.advance(SECOND);
    }
    let dead = subject.begin(subject.running("e"));
    subject.fail(&dead, false, Failure::permanent());
    subject.advance(HOUR);
    assert_eq!(subject.retain(0), 0, "as many as were asked for");
    assert_eq!(subject.retain(2), 2);
    let left: Vec<_> = heads.iter().map(|head| subject.read(head.record).is_some()).collect();
    assert_eq!(left, [false, false, true, true], "the oldest go first");
    assert_eq!(subject.retain(2), 2);
    assert_eq!(subject.retain(2), 1, "a key counts as a record does");
    assert_eq!(subject.retain(2), 0);
}

pub(super) fn not_the_key_of_the_next(subject: &Subject) {
    let head = done(subject, "order-1");
    subject.advance(HOUR);
    let next = subject.begin(subject.running("order-1"));
    assert_eq!(subject.retain(10), 1, "an expired record is removed also when it has no key");
    assert_eq!(subject.read(head.record), None);
    let found = subject.find(&next.operation).map(|found| found.head().record);
    assert_eq!(found, Some(next.record), "a removal leaves the key of the next operation");
    let again = subject.enqueue(subject.running("order-1"));
    assert!(matches!(again, crate::store::Enqueued::Existing(_)));
}
