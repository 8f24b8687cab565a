//! A calendar that is stepped makes nothing early, and nothing older.

use super::subject::{
    DEADLINE, DELAY, HOUR, LEASE, SECOND, Subject, fence, heartbeat, policy, succeeded, take_over,
    until,
};
use crate::Failure;
use crate::record::{Change, Event, Holder, New, Phase, Refused};

pub(super) fn back_during_a_lease(subject: &Subject) {
    let policy = policy(3).deadline(HOUR * 48);
    let head = subject.begin(New { policy, ..subject.running("order-1") });
    subject.advance(SECOND);
    subject.step_back(HOUR);
    match subject.write(head.record, take_over(&head)) {
        Err(Refused::InFlight { until: said }) => assert_eq!(Some(said), until(&head)),
        answer => panic!("a step back ends no lease, and gave {answer:?}"),
    }
    assert_eq!(subject.reclaim(10), [], "a step back loses no holder");
    let extended = subject.wrote(head.record, heartbeat(&head, LEASE));
    assert!(until(&extended) >= until(&head), "a step back makes no lease older");
    // At the latest when the calendar is where it was.
    subject.advance(HOUR + LEASE * 2);
    let taken = subject.wrote(head.record, take_over(&extended));
    assert_eq!((taken.phase, taken.crashes), (Phase::Parked, 1));
    assert!(taken.elapsed >= LEASE, "a holder that is gone is found, and its time charged");
    // What is written behind another step is not before what is there.
    subject.step_back(HOUR);
    let started = Event::AttemptStarted { attempt: 2, elapsed: taken.elapsed };
    let head = subject.append(&taken, true, vec![started]);
    subject.succeed(&head, "1");
}

pub(super) fn back_for_long(subject: &Subject) {
    let policy = policy(3).deadline(HOUR * 48);
    let head = subject.begin(New { policy, ..subject.running("order-1") });
    subject.step_back(HOUR * 24);
    assert_eq!(subject.reclaim(10), [], "a step back loses no holder");
    // Long before the calendar is where it was.
    subject.advance(LEASE * 3);
    let taken = subject.wrote(head.record, take_over(&head));
    assert_eq!((taken.phase, taken.crashes), (Phase::Parked, 1), "a lease ends all the same");
    assert!(taken.created_at < taken.updated_at, "and its time is charged");
}

pub(super) fn back_during_a_park(subject: &Subject) {
    let policy = policy(3).deadline(HOUR * 48);
    subject.begin(New { policy, ..subject.queued("order-1") });
    let head = subject.claim_one();
    let parked = subject.fail(&head, false, Failure::transient());
    subject.step_back(HOUR);
    assert_eq!(subject.claim(10).len(), 0, "a step back makes nothing due");
    let kept = subject.verified(parked.record);
    assert_eq!(kept.head(), &parked, "and changes nothing that is kept");
    subject.advance(HOUR + DELAY);
    let head = subject.claim_one();
    assert_eq!((head.started, head.phase), (2, Phase::Running), "late, but not lost");
    assert!(head.elapsed >= SECOND + DELAY, "and never early");
}

pub(super) fn forward_during_a_lease(subject: &Subject) {
    let stale = subject.begin(subject.running("order-1"));
    subject.advance(SECOND);
    subject.step_forward(HOUR);
    // By the store's clock the lease is over: at worst its holder is fenced.
    let taken = subject.wrote(stale.record, take_over(&stale));
    assert_eq!(taken.elapsed, DEADLINE, "a step forward charges what was left, and no more");
    subject.refused(
        stale.record,
        succeeded(&stale, "1"),
        &Refused::Fenced,
        "of two that believe they hold it, one writes",
    );
    // Its time is used up, so what it is told is the end, with one attempt made.
    assert_eq!((taken.phase, taken.attempts()), (Phase::Dead, 1));
    let next = subject.begin(subject.running("order-2"));
    subject.step_back(HOUR);
    let rule = "time does not run back with the calendar: a claim is not over by that";
    let change = Change::TakeOver { epoch: 1, holder: Holder::new(), lease: LEASE };
    match subject.write(next.record, change) {
        Err(Refused::InFlight { .. }) => {}
        answer => panic!("{rule}, and gave {answer:?}"),
    }
    assert_eq!(fence(&next).epoch, 1);
    subject.succeed(&next, "2");
}

pub(super) fn forward_during_a_park(subject: &Subject) {
    let head = subject.begin(subject.running("order-1"));
    let parked = subject.fail(&head, false, Failure::transient());
    subject.step_forward(HOUR);
    let taken = subject.wrote(parked.record, take_over(&parked));
    assert_eq!(taken.elapsed, DEADLINE, "a step forward gives no operation more time than it has");
    assert_eq!((taken.attempts(), taken.planned), (1, parked.planned), "nor an attempt");
    subject.step_back(HOUR);
    let again = subject.wrote(parked.record, heartbeat(&taken, LEASE));
    assert!(until(&again) >= until(&taken), "and its holder goes on");
}
