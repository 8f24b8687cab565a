//! Whoever lost a claim writes nothing any more.

use std::thread;

use super::subject::{
    DELAY, LEASE, SECOND, Subject, abandon, block_on, failed, fence, heartbeat, succeeded,
    take_over,
};
use crate::Failure;
use crate::record::{Change, Ended, Fence, Head, Holder, Phase, Refused};
use crate::store::Write;

/// None of what a holder can ask for applies.
#[track_caller]
fn is_fenced(subject: &Subject, stale: &Head, rule: &str) {
    let append = Change::Append {
        fence: fence(stale),
        events: failed(stale, Failure::transient()),
        keeps: true,
        result: None,
    };
    let changes = [
        succeeded(stale, "1"),
        append,
        heartbeat(stale, LEASE * 10),
        abandon(stale, Some(Ended::Dropped)),
        abandon(stale, None),
    ];
    for change in changes {
        subject.refused(stale.record, change.clone(), &Refused::Fenced, rule);
        let before = subject.verified(stale.record);
        subject.store().post(Write { record: stale.record, change });
        subject.settle();
        assert_eq!(subject.verified(stale.record), before, "{rule}, nor by `post`");
    }
}

pub(super) fn a_stale_epoch(subject: &Subject) {
    let stale = subject.begin(subject.running("order-1"));
    subject.advance(LEASE);
    let taken = subject.wrote(stale.record, take_over(&stale));
    assert_eq!(taken.lease.epoch, stale.lease.epoch + 1, "every claim has an epoch of its own");
    is_fenced(subject, &stale, "whoever was taken over from writes nothing");
    let started = subject.start(&Head { elapsed: LEASE + DELAY, ..taken });
    subject.succeed(&started, "2");
    is_fenced(subject, &stale, "nor once the other is done");
    assert_eq!(subject.verified(stale.record).result(), Some("2"));
}

pub(super) fn a_stale_holder_of_this_epoch(subject: &Subject) {
    let head = subject.begin(subject.running("order-1"));
    let other = subject.begin(subject.running("order-2"));
    // Two calls that believe in the same claim.
    let lease = crate::record::Lease { epoch: head.lease.epoch, held: other.lease.held };
    let stale = Head { lease, ..head.clone() };
    is_fenced(subject, &stale, "an epoch alone makes no holder");
    let holder = fence(&head).holder;
    for epoch in [0, head.lease.epoch + 1, u64::MAX] {
        let fence = Fence { epoch, holder };
        let change = Change::Heartbeat { fence, lease: LEASE };
        let rule = "a claim is its epoch as much as its holder, also one that is yet to come";
        subject.refused(head.record, change, &Refused::Fenced, rule);
    }
}

pub(super) fn a_claim_that_was_reclaimed(subject: &Subject) {
    let stale = subject.begin(subject.running("order-1"));
    subject.advance(LEASE);
    let heads = subject.reclaim(10);
    assert_eq!(heads.len(), 1, "a lease is over at its end");
    is_fenced(subject, &stale, "whoever was reclaimed from writes nothing");
}

pub(super) fn a_claim_that_was_let_go(subject: &Subject) {
    let stale = subject.begin(subject.running("order-1"));
    subject.fail(&stale, false, Failure::transient());
    is_fenced(subject, &stale, "whoever let go of its lease writes nothing any more");
}

pub(super) fn a_claim_of_the_same_holder_before(subject: &Subject) {
    let stale = subject.begin(subject.running("order-1"));
    let holder = fence(&stale).holder;
    subject.advance(LEASE);
    let change = Change::TakeOver { epoch: stale.lease.epoch, holder, lease: LEASE };
    subject.wrote(stale.record, change);
    is_fenced(subject, &stale, "an earlier claim is over also where the holder is the same");
}

pub(super) fn a_take_over_of_what_was_read(subject: &Subject) {
    let read = subject.begin(subject.running("order-1"));
    let until = subject.now().plus(LEASE);
    let in_flight = Refused::InFlight { until };
    subject.refused(read.record, take_over(&read), &in_flight, "nobody takes over a live lease");
    subject.advance(LEASE);
    let taken = subject.wrote(read.record, take_over(&read));
    subject.fail(
        &subject.start(&Head { elapsed: LEASE + DELAY, ..taken }),
        false,
        Failure::transient(),
    );
    subject.refused(
        read.record,
        take_over(&read),
        &Refused::Fenced,
        "what was claimed since it was read is not taken over by that",
    );
    let missing = subject.record();
    subject.refused(missing, take_over(&read), &Refused::Missing, "there is no such record");
}

pub(super) fn a_reclaim_of_what_was_read(subject: &Subject) {
    let read = subject.begin(subject.running("order-1"));
    let reclaim = Change::Reclaim { epoch: read.lease.epoch };
    let in_flight = Refused::InFlight { until: subject.now().plus(LEASE) };
    let rule = "a live lease is not reclaimed";
    subject.refused(read.record, reclaim.clone(), &in_flight, rule);
    subject.advance(LEASE);
    let taken = subject.wrote(read.record, take_over(&read));
    subject.advance(LEASE);
    let rule = "a rescue of what was read before a claim does not end that claim";
    subject.refused(read.record, reclaim.clone(), &Refused::Fenced, rule);
    let done = subject.wrote(taken.record, Change::Reclaim { epoch: taken.lease.epoch });
    assert_eq!((done.phase, done.crashes), (Phase::Parked, 2));
    let rule = "what nobody holds is not reclaimed again";
    let again = Change::Reclaim { epoch: taken.lease.epoch };
    subject.refused(read.record, again, &Refused::Fenced, rule);
}

pub(super) fn one_of_many_takes_over(subject: &Subject) {
    let head = subject.begin(subject.operation("order-1"));
    let store = subject.store();
    let call = |holder: Holder| {
        let change = Change::TakeOver { epoch: head.lease.epoch, holder, lease: LEASE };
        let write = Write { record: head.record, change };
        match block_on("`commit`", store.commit(vec![write])) {
            Ok(mut answers) => answers.swap_remove(0),
            Err(error) => panic!("`commit` failed: {error}"),
        }
    };
    let answers: Vec<_> = thread::scope(|scope| {
        let calls: Vec<_> = (0..16).map(|_| scope.spawn(move || call(Holder::new()))).collect();
        let join = |call: thread::ScopedJoinHandle<'_, _>| {
            call.join().unwrap_or_else(|_| panic!("`commit` panicked"))
        };
        calls.into_iter().map(join).collect()
    });
    let (taken, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
    assert_eq!(taken.len(), 1, "of calls that take over at once, one does");
    let until = subject.now().plus(LEASE);
    for refused in refused {
        assert_eq!(refused, Err(Refused::InFlight { until }), "and the others see that it runs");
    }
    subject.advance(SECOND);
    let holder = taken[0].as_ref().ok().map(fence);
    assert_eq!(Some(fence(subject.verified(head.record).head())), holder);
}
