//! What the same call is answered.

use std::time::Duration;

use retry_core::record::Phase;
use retry_core::{Failure, Safety, StopReason};
use retry_core_tests::block_on;

use crate::service::{BUSY, Failed, POLICY, SECOND, World};

#[test]
fn a_finished_operation_answers_its_result_and_does_not_run_again() {
    let world = World::new();
    let service = world.service();
    assert_eq!(service.run(&[Ok(7)]).unwrap(), 7);
    assert_eq!(
        world.kinds(),
        ["enqueued", "attempt_started", "attempt_finished", "result_recorded"]
    );
    let again = world.service();
    assert_eq!(again.run(&[Ok(8)]).unwrap(), 7);
    assert!(again.ran().is_empty());
    assert_eq!(world.record().result(), Some("7"));
}

#[test]
fn failures_are_kept_with_what_follows_them() {
    let world = World::new();
    let service = world.service();
    assert_eq!(service.run(&[Err(BUSY), Err(BUSY), Ok(7)]).unwrap(), 7);
    assert_eq!(service.ran(), [1, 2, 3]);
    assert_eq!(world.clock.elapsed(), 20 * SECOND);
    assert_eq!(
        world.kinds(),
        [
            "enqueued",
            "attempt_started",
            "attempt_finished",
            "delay_chosen",
            "attempt_started",
            "attempt_finished",
            "delay_chosen",
            "attempt_started",
            "attempt_finished",
            "result_recorded",
        ]
    );
    assert_eq!(world.record().head().elapsed, 20 * SECOND);
}

#[test]
fn a_final_stop_answers_again_with_its_text() {
    for (failure, reason, phase) in [
        (Failure::permanent(), StopReason::FailPermanent, Phase::Dead),
        (Failure::unknown(), StopReason::ManualReview, Phase::Review),
        (Failure::transient().after(3600 * SECOND), StopReason::HintTooLong, Phase::Dead),
        (Failure::transient(), StopReason::AttemptsExhausted, Phase::Dead),
    ] {
        let world = World::new();
        let first = world.service().run(&[Err(Failed(failure))]).unwrap_err();
        assert_eq!((first.reason(), world.phase()), (reason, phase));

        let service = world.service();
        let again = service.run(&[Ok(8)]).unwrap_err();
        assert!(service.ran().is_empty());
        assert_eq!(again.reason(), reason);
        assert_eq!(again.attempts(), first.attempts());
        assert_eq!(again.elapsed(), first.elapsed());
        assert_eq!(again.stop().to_string(), first.stop().to_string());
        assert_eq!(again.recorded_error(), Some(failure.to_string().as_str()));
        assert_eq!(again.to_string(), first.to_string());
    }
}

/// U6: whatever the errors say, the numbers end it, and it is in a list.
#[test]
fn u6_an_error_that_always_says_again_is_dead_at_the_last_attempt() {
    let world = World::new();
    let stopped = world.service().run(&[Err(BUSY)]).unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::AttemptsExhausted, 4));
    assert_eq!(world.phase(), Phase::Dead);
}

#[test]
fn a_result_is_forgotten_when_its_time_is_over() {
    let world = World::new();
    let service = world.service_with(|retrier| retrier.keep(100 * SECOND));
    assert_eq!(service.run(&[Ok(7)]).unwrap(), 7);
    world.clock.advance(99 * SECOND);
    assert_eq!(service.run(&[Ok(8)]).unwrap(), 7);
    world.clock.advance(SECOND);
    assert_eq!(service.run(&[Ok(8)]).unwrap(), 8);
    assert_eq!(world.heads().len(), 2);
}

#[test]
fn another_call_with_the_same_key_is_a_mistake() {
    let world = World::new();
    let service = world.service();
    assert_eq!(service.run(&[Ok(7)]).unwrap(), 7);
    let before = world.record();
    let other = service.call(6, |_| async { Ok::<u32, Failed>(8) });
    let stopped = block_on(&world.clock, other).unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::KeyReused, 0));
    assert_eq!(world.record(), before, "and it writes nothing");
}

/// What is running goes on by the numbers that it began with.
#[test]
fn a_new_release_does_not_change_the_policy_of_what_is_running() {
    let world = World::new();
    crate::service::kill_when(&world.clock, world.service().outcomes(&[Err(BUSY)]), || {
        world.heads().first().is_some_and(|head| head.planned.is_some())
    });
    world.clock.advance(31 * SECOND);
    let service = world.service();
    let service = service.of(POLICY.max_attempts(2), Safety::Keyed);
    assert_eq!(service.run(&[Err(BUSY), Err(BUSY), Ok(7)]).unwrap(), 7);
    assert_eq!(service.ran(), [2, 3, 4]);
    assert_eq!(world.record().head().policy.get_max_attempts(), 4);
}

/// Under another declaration, repeating it may not be safe at all.
#[test]
fn what_runs_does_not_go_on_under_another_declaration() {
    for (began, later) in [(Safety::AtMostOnce, Safety::Keyed), (Safety::Keyed, Safety::AtMostOnce)]
    {
        let world = World::new();
        let refused = Failed(Failure::transient().no_effect());
        let service = world.service().of(POLICY, began);
        crate::service::kill_when(&world.clock, service.outcomes(&[Err(refused)]), || {
            world.heads().first().is_some_and(|head| head.planned.is_some())
        });
        world.clock.advance(31 * SECOND);
        let before = world.record();
        let service = world.service().of(POLICY, later);
        let stopped = service.run(&[Ok(7)]).unwrap_err();
        assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::InvalidPolicy, 0));
        assert!(service.ran().is_empty());
        assert_eq!(world.record(), before, "and it writes nothing");
        assert_eq!(world.service().of(POLICY, began).run(&[Ok(7)]).unwrap(), 7);
    }
}

#[test]
fn a_long_attempt_keeps_its_lease() {
    let world = World::new();
    let (service, clock) = (world.service(), world.clock.clone());
    let charge = service.call(5, |_| {
        let clock = clock.clone();
        async move {
            retry_core_tests::sleep(&clock, Duration::from_secs(500)).await;
            Ok::<u32, Failed>(7)
        }
    });
    assert_eq!(block_on(&world.clock, charge).unwrap(), 7);
    assert_eq!(service.ran(), [1]);
}
