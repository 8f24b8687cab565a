//! Processes that are gone, and those that go on for them.

use std::cell::Cell;

use retry_core::record::Phase;
use retry_core::{Safety, StopReason};
use retry_core_tests::{block_on, sleep};

use crate::drops::slow;
use crate::service::{BUSY, Failed, LEASE, POLICY, SECOND, Service, World, kill_when, poll};

/// A body that never ends.
async fn hang(service: &Service) -> Result<u32, retry_core::Stopped<Failed>> {
    service.call(5, |_| std::future::pending()).await
}

fn kill_in_attempt(world: &World, service: &Service) {
    let before = service.ran().len();
    kill_when(&world.clock, hang(service), || service.ran().len() > before);
}

#[test]
fn a_crash_in_an_attempt_is_a_failed_attempt() {
    let world = World::new();
    kill_in_attempt(&world, &world.service());
    assert_eq!(world.record().head().attempts(), 1);
    let died = world.clock.elapsed();

    // It may still run, for all that anybody knows.
    let stopped = world.service().run(&[Ok(7)]).unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::InFlight, 0));

    world.clock.advance(LEASE);
    let service = world.service();
    assert_eq!(service.run(&[Ok(7)]).unwrap(), 7);
    assert_eq!(service.ran(), [2]);
    assert_eq!(world.attempts(), [(1, Some("crashed")), (2, Some("succeeded"))]);
    assert_eq!(
        world.kinds(),
        [
            "enqueued",
            "attempt_started",
            "lease_lost",
            "resumed",
            "attempt_finished",
            "delay_chosen",
            "attempt_started",
            "attempt_finished",
            "result_recorded",
        ]
    );
    // The downtime counts, and so does the wait after it.
    assert_eq!(world.record().head().elapsed, died + LEASE + 10 * SECOND);
}

/// U1: the count is stored before the attempt.
#[test]
fn u1_a_process_that_dies_in_every_attempt_is_ended_by_the_last() {
    let world = World::new();
    let mut ran = Vec::new();
    loop {
        let service = world.service();
        let died = Cell::new(false);
        let charge = hang(&service);
        let mut charge = Box::pin(charge);
        let stopped = loop {
            if let Some(stopped) = poll(&world.clock, charge.as_mut(), 1) {
                break Some(stopped.unwrap_err());
            }
            if !service.ran().is_empty() {
                died.set(true);
                break None;
            }
        };
        std::mem::forget(charge);
        ran.extend(service.ran());
        world.clock.advance(LEASE);
        if let Some(stopped) = stopped {
            assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::AttemptsExhausted, 4));
            break;
        }
    }
    assert_eq!(ran, [1, 2, 3, 4]);
    assert_eq!(world.phase(), Phase::Dead);
    assert_eq!(world.attempts().last(), Some(&(4, Some("crashed"))));
}

#[test]
fn a_crash_while_it_waits_keeps_the_planned_time() {
    let world = World::new();
    let service = world.service();
    kill_when(&world.clock, service.outcomes(&[Err(BUSY)]), || {
        world.heads().first().is_some_and(|head| head.planned.is_some())
    });
    assert_eq!(world.record().head().planned, Some(10 * SECOND));
    let died = world.clock.elapsed();
    // Downtime beyond the plan: the attempt is due at once.
    world.clock.advance(LEASE);
    let service = world.service();
    assert_eq!(service.run(&[Ok(7)]).unwrap(), 7);
    assert_eq!(service.ran(), [2]);
    assert_eq!(world.clock.elapsed(), died + LEASE);
    let head = world.record().head().clone();
    assert_eq!((head.elapsed, head.crashes), (died + LEASE, 1));
}

#[test]
fn a_wait_longer_than_the_downtime_goes_on() {
    let world = World::new();
    let policy = POLICY.backoff(
        retry_core::Backoff::fixed(100 * SECOND).cap(100 * SECOND).jitter(retry_core::Jitter::None),
    );
    let service = world.service().of(policy, Safety::Keyed);
    kill_when(&world.clock, service.outcomes(&[Err(BUSY)]), || {
        world.heads().first().is_some_and(|head| head.planned.is_some())
    });
    world.clock.advance(LEASE);
    assert_eq!(world.service().run(&[Ok(7)]).unwrap(), 7);
    assert_eq!(world.clock.elapsed(), 100 * SECOND);
}

#[test]
fn downtime_beyond_the_deadline_ends_it() {
    let world = World::new();
    kill_in_attempt(&world, &world.service());
    world.clock.advance(3600 * SECOND);
    let service = world.service();
    let stopped = service.run(&[Ok(7)]).unwrap_err();
    assert_eq!(stopped.reason(), StopReason::DeadlineExceeded);
    assert!(service.ran().is_empty());
    assert_eq!(world.record().head().elapsed, POLICY.get_deadline(), "no more than was left");
    assert_eq!(world.phase(), Phase::Dead);
}

#[test]
fn a_crash_of_what_runs_at_most_once_goes_to_a_person() {
    let world = World::new();
    let service = world.service().of(POLICY, Safety::AtMostOnce);
    kill_in_attempt(&world, &service);
    world.clock.advance(LEASE);
    let service = world.service().of(POLICY, Safety::AtMostOnce);
    let stopped = service.run(&[Ok(7)]).unwrap_err();
    assert_eq!(stopped.reason(), StopReason::ManualReview);
    assert!(service.ran().is_empty());
    assert_eq!(world.phase(), Phase::Review);
}

/// U2: one shared count.
#[test]
fn u2_two_processes_share_one_count() {
    let world = World::new();
    let (one, other) = (world.service(), world.service());
    kill_in_attempt(&world, &one);
    world.clock.advance(LEASE);
    kill_in_attempt(&world, &other);
    assert_eq!((one.ran(), other.ran()), (vec![1], vec![2]));
    assert_eq!(world.record().head().attempts(), 2);
}

/// A holder that is starved is fenced: there is one result.
#[test]
fn a_starved_holder_cannot_write_any_more() {
    let world = World::new();
    let (starved, other) = (world.service(), world.service());
    let clock = world.clock.clone();
    let mut charge = Box::pin(starved.call(5, |_| {
        let clock = clock.clone();
        async move {
            sleep(&clock, LEASE * 2).await;
            Ok::<u32, Failed>(1)
        }
    }));
    while starved.ran().is_empty() {
        assert!(poll(&world.clock, charge.as_mut(), 1).is_none());
    }
    world.clock.advance(LEASE);
    assert_eq!(other.run(&[Ok(2)]).unwrap(), 2);
    let stopped = block_on(&world.clock, charge).unwrap_err();
    assert_eq!(stopped.reason(), StopReason::LeaseLost);
    assert_eq!(world.record().result(), Some("2"));
    assert_eq!(world.attempts(), [(1, Some("crashed")), (2, Some("succeeded"))]);
}

/// Its attempt was charged, and it heard of that too late: another one runs by then.
#[test]
fn a_body_does_not_begin_under_a_lease_that_is_over() {
    let world = World::new();
    let (late, other) = (slow(&world), world.service());
    let mut charge = Box::pin(late.outcomes(&[Ok(1)]));
    while world.heads().is_empty() {
        assert!(poll(&world.clock, charge.as_mut(), 1).is_none());
    }
    world.clock.advance(LEASE);
    assert_eq!(other.run(&[Ok(2)]).unwrap(), 2);
    let stopped = block_on(&world.clock, charge).unwrap_err();
    assert_eq!(stopped.reason(), StopReason::LeaseLost);
    assert_eq!((late.ran(), other.ran()), (vec![], vec![2]));
}

/// Nobody else wanted it: the store says so, and it goes on.
#[test]
fn a_body_begins_late_where_nobody_else_has_taken_over() {
    let world = World::new();
    let late = slow(&world);
    let mut charge = Box::pin(late.outcomes(&[Ok(1)]));
    while world.heads().is_empty() {
        assert!(poll(&world.clock, charge.as_mut(), 1).is_none());
    }
    world.clock.advance(LEASE);
    assert_eq!(block_on(&world.clock, charge).unwrap(), 1);
    assert_eq!(late.ran(), [1]);
    assert_eq!(world.attempts(), [(1, Some("succeeded"))]);
}

#[test]
fn an_attached_call_answers_what_the_running_one_comes_to() {
    let world = World::new();
    let (running, attached) = (world.service(), world.service().spec(|spec| spec.attach()));
    let clock = world.clock.clone();
    let first = running.call(5, |_| {
        let clock = clock.clone();
        async move {
            sleep(&clock, LEASE * 3).await;
            Ok::<u32, Failed>(1)
        }
    });
    let second = attached.outcomes(&[Ok(2)]);
    let (first, second) = block_on(&world.clock, async { futures::join!(first, second) });
    assert_eq!((first.unwrap(), second.unwrap()), (1, 1));
    assert!(attached.ran().is_empty());
}

#[test]
fn an_attached_call_takes_over_what_was_left() {
    let world = World::new();
    kill_in_attempt(&world, &world.service());
    let attached = world.service().spec(|spec| spec.attach());
    assert_eq!(attached.run(&[Ok(2)]).unwrap(), 2);
    assert_eq!(attached.ran(), [2]);
    assert_eq!(world.clock.elapsed(), LEASE + 10 * SECOND);
}

#[test]
fn an_attached_call_does_not_wait_longer_than_it_may_run() {
    let world = World::new();
    let (running, attached) = (world.service(), world.service().spec(|spec| spec.attach()));
    let clock = world.clock.clone();
    // The holder has begun later, and so ends later.
    let policy = POLICY.deadline(3600 * SECOND);
    let running = running.of(policy, Safety::Keyed);
    let first = running.call(5, |_| {
        let clock = clock.clone();
        async move {
            sleep(&clock, 3000 * SECOND).await;
            Ok::<u32, Failed>(1)
        }
    });
    let second = attached.outcomes(&[Ok(2)]);
    let (first, second) = block_on(&world.clock, async { futures::join!(first, second) });
    assert_eq!(first.unwrap(), 1);
    assert_eq!(second.unwrap_err().reason(), StopReason::InFlight);
}
