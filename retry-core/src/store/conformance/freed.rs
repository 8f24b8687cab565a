//! Whoever waits for an operation hears when nobody holds it.

use std::time::Duration;

use super::subject::{LEASE, Subject, abandon, fence, heartbeat, is_ready, succeeded};
use crate::Failure;
use crate::record::Change;
use crate::store::Write;

const JUST: Duration = Duration::from_nanos(1);

pub(super) fn at_once_where_nobody_holds(subject: &Subject) {
    let missing = subject.record();
    subject.answer("`freed` of no record", subject.store().freed(missing));
    let free = subject.begin(subject.operation("free"));
    subject.answer("`freed` of a free record", subject.store().freed(free.record));
    let done = subject.begin(subject.running("done"));
    let done = subject.succeed(&done, "1");
    subject.answer("`freed` of what is done", subject.store().freed(done.record));
    let over = subject.begin(subject.running("over"));
    subject.advance(LEASE);
    subject.answer("`freed` of a lease that is over", subject.store().freed(over.record));
}

pub(super) fn when_the_lease_ends(subject: &Subject) {
    let ends: [fn(&crate::record::Head) -> Change; 3] = [
        |head| succeeded(head, "1"),
        |head| abandon(head, None),
        |head| Change::Append {
            fence: fence(head),
            events: super::subject::failed(head, Failure::transient()),
            keeps: false,
            result: None,
        },
    ];
    for (key, end) in ["a", "b", "c"].into_iter().zip(ends) {
        let head = subject.begin(subject.running(key));
        let mut freed = subject.store().freed(head.record);
        assert!(!is_ready(&mut freed), "what is held is not free");
        subject.settle();
        assert!(!is_ready(&mut freed), "what is held is not free, however long one asks");
        // Another waits for another operation, and goes away.
        drop(subject.store().freed(head.record));
        subject.store().post(Write { record: head.record, change: end(&head) });
        subject.answer("`freed` of a lease that ended", freed);
    }
}

pub(super) fn when_the_lease_is_over(subject: &Subject) {
    let head = subject.begin(subject.running("order-1"));
    let mut freed = subject.store().freed(head.record);
    assert!(!is_ready(&mut freed));
    subject.settle();
    subject.advance(LEASE - JUST);
    assert!(!is_ready(&mut freed), "a lease is not over before its end");
    subject.advance(JUST);
    subject.answer("`freed` of a lease that is over", freed);
}

pub(super) fn not_before_an_extended_lease(subject: &Subject) {
    let head = subject.begin(subject.running("order-1"));
    let mut freed = subject.store().freed(head.record);
    assert!(!is_ready(&mut freed));
    subject.settle();
    subject.wrote(head.record, heartbeat(&head, LEASE * 2));
    subject.advance(LEASE);
    for _ in 0..3 {
        assert!(!is_ready(&mut freed), "who waits hears of the extended lease's end");
        subject.settle();
    }
    subject.advance(LEASE);
    subject.answer("`freed` of an extended lease", freed);
}

pub(super) fn every_waiter(subject: &Subject) {
    let head = subject.begin(subject.running("order-1"));
    let other = subject.begin(subject.running("order-2"));
    let mut waiters: Vec<_> = (0..8).map(|_| subject.store().freed(head.record)).collect();
    assert!(!waiters.iter_mut().any(is_ready));
    let mut unrelated = subject.store().freed(other.record);
    assert!(!is_ready(&mut unrelated));
    subject.succeed(&head, "1");
    for freed in waiters {
        subject.answer("`freed` of each who waits", freed);
    }
    assert!(!is_ready(&mut unrelated), "another record is not free by that");
}
