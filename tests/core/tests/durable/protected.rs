//! The switch, the breaker and the budget around durable operations.

use std::time::Duration;

use retry_core::record::Phase;
use retry_core::{Breaker, Budget, Clock, Resource, RetrierBuilder, StopReason};
use retry_core_tests::block_on;

use crate::service::{BUSY, SECOND, World, kill_when};

#[test]
fn what_is_switched_off_goes_on_when_it_is_switched_on() {
    let world = World::new();
    let service = world.service();
    service.retrier.switch_off();
    let stopped = service.run(&[Err(BUSY)]).unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::Disabled, 1));
    let head = world.record().head().clone();
    assert_eq!((head.phase, head.planned), (Phase::Parked, Some(10 * SECOND)));
    assert_eq!(head.lease.held, None);

    // Still off: the same call is answered the same, nothing runs, and nothing is
    // written, however often it asks.
    let before = world.record();
    for _ in 0..3 {
        let stopped = service.run(&[Ok(7)]).unwrap_err();
        assert_eq!(stopped.reason(), StopReason::Disabled);
    }
    assert_eq!(service.ran(), [1]);
    assert_eq!(world.record(), before);

    service.retrier.switch_on();
    assert_eq!(service.run(&[Ok(7)]).unwrap(), 7);
    assert_eq!(service.ran(), [1, 2]);
    assert_eq!(world.clock.elapsed(), 10 * SECOND, "at the time that was planned");
}

#[test]
fn a_shutdown_during_a_wait_parks_it() {
    let world = World::new();
    let service = world.service();
    let mut call = Box::pin(service.outcomes(&[Err(BUSY)]));
    while world.heads().first().is_none_or(|head| head.planned.is_none()) {
        assert!(crate::service::poll(&world.clock, call.as_mut(), 1).is_none());
    }
    service.retrier.shutdown();
    let stopped = block_on(&world.clock, call).unwrap_err();
    assert_eq!(stopped.reason(), StopReason::Cancelled);
    let head = world.record().head().clone();
    assert_eq!((head.phase, head.planned), (Phase::Parked, Some(10 * SECOND)));
    assert_eq!(world.service().run(&[Ok(7)]).unwrap(), 7);
}

fn gateway(retrier: RetrierBuilder) -> RetrierBuilder {
    let budget = Budget::grpc(10, 0.1).build().unwrap();
    let breaker = Breaker::consecutive(1, 100 * SECOND);
    let resource = Resource::new("gateway").budget(budget).breaker(breaker).unwrap();
    retrier.resource(resource).unwrap().default_resource("gateway").unwrap()
}

#[test]
fn an_open_breaker_defers_and_a_crash_meanwhile_loses_nothing() {
    let world = World::new();
    let service = world.service_with(gateway);
    service.retrier.breaker("gateway").unwrap().open(world.clock.now(), Some(100 * SECOND));
    kill_when(&world.clock, service.outcomes(&[Ok(7)]), || {
        world.heads().first().is_some_and(|head| head.deferrals == 1)
    });
    let head = world.record().head().clone();
    assert_eq!(
        (head.phase, head.started, head.due_reason),
        (Phase::Parked, 0, Some(StopReason::CircuitOpen))
    );

    world.clock.advance(31 * SECOND);
    // A new process has a breaker of its own, which is closed, and keeps the time.
    let service = world.service_with(gateway);
    assert_eq!(service.run(&[Ok(7)]).unwrap(), 7);
    assert_eq!(service.ran(), [1]);
    let head = world.record().head().clone();
    assert_eq!((head.deferrals, head.attempts()), (1, 1));
}

/// G5: the recorded result, and no token spent.
#[test]
fn g5_a_finished_operation_answers_while_the_budget_is_empty() {
    let world = World::new();
    let service = world.service_with(gateway);
    assert_eq!(service.run(&[Ok(7)]).unwrap(), 7);
    let budget = service.retrier.budget("gateway").unwrap();
    let now = world.clock.now();
    let before = budget.stats(now);
    assert_eq!(service.run(&[Ok(8)]).unwrap(), 7);
    assert_eq!(budget.stats(now), before);
}

/// A retry after a restart needs a token of the process that goes on.
#[test]
fn a_retry_after_a_restart_takes_a_token() {
    let world = World::new();
    let service = world.service_with(gateway);
    kill_when(&world.clock, service.outcomes(&[Err(BUSY)]), || {
        world.heads().first().is_some_and(|head| head.planned.is_some())
    });
    world.clock.advance(31 * SECOND);
    let service = world.service_with(gateway);
    assert_eq!(service.run(&[Ok(7)]).unwrap(), 7);
    assert_eq!(service.ran(), [2]);
}

/// A caller with less time than the operation has ends its own call, and not the
/// operation.
#[test]
fn what_is_around_it_ends_the_call_and_not_the_operation() {
    let world = World::new();
    let service = world.service();
    let within = |span, outcomes: &'static [Result<u32, crate::service::Failed>]| {
        let call = retry_core::within(span, service.outcomes(outcomes));
        block_on(&world.clock, call)
    };
    // The wait of 10 s does not end in time: it is not begun.
    let stopped = within(3 * SECOND, &[Err(BUSY)]).unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::DeadlineExceeded, 1));
    assert_eq!(world.clock.elapsed(), Duration::ZERO);
    let head = world.record().head().clone();
    assert_eq!((head.phase, head.planned), (Phase::Parked, Some(10 * SECOND)));

    // Nor later, and then nothing is written.
    let before = world.record().entries().len();
    let stopped = within(3 * SECOND, &[Ok(7)]).unwrap_err();
    assert_eq!(stopped.reason(), StopReason::DeadlineExceeded);
    assert_eq!((world.record().entries().len(), world.clock.elapsed()), (before, Duration::ZERO));

    assert_eq!(within(30 * SECOND, &[Ok(7)]).unwrap(), 7);
    assert_eq!(service.ran(), [1, 2]);
    assert_eq!(world.clock.elapsed(), 10 * SECOND);
}

#[test]
fn a_shutdown_ends_the_wait_for_what_runs_elsewhere() {
    let world = World::new();
    let (running, attached) = (world.service(), world.service().spec(|spec| spec.attach()));
    let mut first = Box::pin(
        running.call(5, |_| std::future::pending::<Result<u32, crate::service::Failed>>()),
    );
    while running.ran().is_empty() {
        assert!(crate::service::poll(&world.clock, first.as_mut(), 1).is_none());
    }
    let mut second = Box::pin(attached.outcomes(&[Ok(2)]));
    assert!(crate::service::poll(&world.clock, second.as_mut(), 1).is_none());
    attached.retrier.shutdown();
    let stopped = crate::service::poll(&world.clock, second.as_mut(), 1).unwrap().unwrap_err();
    assert_eq!(stopped.reason(), StopReason::Cancelled);
}
