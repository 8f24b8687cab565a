//! What operations tell those around them, beside their result: calls that must
//! not run twice, and why they stopped.
#![allow(clippy::unwrap_used, reason = "in helpers of tests")]

use std::future::Future;
use std::time::Duration;

use retry_core::clock::VirtualClock;
use retry_core::{
    Backoff, Breaker, Clock as _, Failure, Jitter, NonIdempotent, OnRefusal, Operation, Policy,
    Resource, Retrier, StopReason,
};
use retry_core_tests::{BUSY, Failed, block_on, turn};

const SECOND: Duration = Duration::from_secs(1);

/// Certainly without effect.
const REFUSED: Failed = Failed(Failure::transient().no_effect());

fn policy(max_attempts: u32) -> Policy {
    Policy::new(max_attempts, 3600 * SECOND).backoff(Backoff::fixed(SECOND).jitter(Jitter::None))
}

/// An operation that waits for a breaker until a minute from now.
fn deferred(clock: &VirtualClock) -> Operation {
    let resource = Resource::new("printer").breaker(Breaker::consecutive(9, SECOND)).unwrap();
    let resource = resource.on_refusal(OnRefusal::Defer);
    let retrier = Retrier::builder().resource(resource).unwrap().build();
    retrier.breaker("printer").unwrap().open(clock.now(), Some(60 * SECOND));
    Operation::at_most_once("print", policy(3)).with(&retrier).resource("printer")
}

#[test]
fn an_operation_that_is_only_deferred_does_not_taint_the_attempt_around_it() {
    let clock = VirtualClock::new();
    let print = deferred(&clock);
    let outer = Operation::idempotent("outer", policy(2)).run(|_| async {
        let mut printing = Box::pin(print.clone().run(|_| async { Ok::<_, Failed>(()) }));
        assert!(futures::poll!(&mut printing).is_pending(), "it waits for the breaker");
        Err::<(), _>(BUSY)
    });
    let stopped = block_on(&clock, outer).unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::AttemptsExhausted, 2));
}

#[test]
fn an_operation_that_was_deferred_and_began_taints_the_attempt_around_it() {
    let clock = VirtualClock::new();
    let print = deferred(&clock);
    let outer = Operation::idempotent("outer", policy(2)).run(|_| async {
        print.clone().run(|_| async { Ok::<_, Failed>(()) }).await.unwrap();
        Err::<(), _>(BUSY)
    });
    let stopped = block_on(&clock, outer).unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::NotIdempotent, 1));
    assert_eq!(stopped.elapsed(), 60 * SECOND);
}

/// Whether an attempt that fails without effect after `inside` is repeated: it
/// is where that told of one call at most.
fn told_of_one<F: Future<Output = ()>>(clock: &VirtualClock, inside: impl Fn() -> F) -> bool {
    let outer = Operation::at_most_once("outer", policy(2)).run(|attempt| {
        let inside = (attempt.number() == 1).then(&inside);
        async {
            if let Some(inside) = inside {
                inside.await;
                return Err(REFUSED);
            }
            Ok(())
        }
    });
    match block_on(clock, outer) {
        Ok(()) => true,
        Err(stopped) => {
            assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::ManualReview, 1));
            false
        }
    }
}

/// A call that must not run twice, in two polls.
async fn call() {
    NonIdempotent::new(turn()).await;
}

#[test]
fn one_call_is_told_of_once_however_often_it_is_polled() {
    let clock = VirtualClock::new();
    assert!(told_of_one(&clock, call));
    assert!(!told_of_one(&clock, || async {
        call().await;
        call().await;
    }));
}

/// However many attempts it makes, and whatever those call.
#[test]
fn an_operation_that_runs_at_most_once_is_told_of_once() {
    let clock = VirtualClock::new();
    let print = deferred(&clock);
    assert!(told_of_one(&clock, || async {
        let printing = print.clone().run(|attempt| async move {
            call().await;
            if attempt.number() < 3 { Err(REFUSED) } else { Ok(()) }
        });
        printing.await.unwrap();
    }));
}

/// What it calls is told of as it comes, and not again with what comes later.
#[test]
fn through_an_operation_that_may_repeat_a_call_is_told_of_once() {
    let clock = VirtualClock::new();
    let through = |calls: u32| {
        told_of_one(&clock, || async move {
            let middle = Operation::idempotent("middle", policy(2)).run(|_| async {
                for _ in 0..calls {
                    call().await;
                }
                // Something else is told, in a poll of its own.
                turn().await;
                let gone = Operation::idempotent("gone", policy(1));
                gone.run(|_| async { Err::<(), _>(BUSY) }).await.unwrap_err();
                Ok::<_, Failed>(())
            });
            middle.await.unwrap();
        })
    };
    assert!(through(1));
    assert!(!through(2));
}

#[test]
fn of_two_operations_that_stop_inside_the_later_one_counts() {
    let exhausted = || async {
        let inner = Operation::idempotent("exhausted", policy(2));
        inner.run(|_| async { Err::<(), _>(BUSY) }).await.unwrap_err().reason()
    };
    let late = || async {
        let inner = Operation::idempotent("late", Policy::new(1, SECOND));
        let running = inner.run(|_| std::future::pending::<Result<(), Failed>>());
        running.await.unwrap_err().reason()
    };
    for late_last in [true, false] {
        let outer = Operation::idempotent("outer", policy(4)).run(|_| async {
            let mut reasons = Vec::new();
            if late_last {
                reasons.push(exhausted().await);
                reasons.push(late().await);
            } else {
                reasons.push(late().await);
                reasons.push(exhausted().await);
            }
            let expected = [StopReason::AttemptsExhausted, StopReason::DeadlineExceeded];
            assert!(expected.iter().all(|reason| reasons.contains(reason)), "{reasons:?}");
            Err::<(), _>(BUSY)
        });
        let stopped = block_on(&VirtualClock::new(), outer).unwrap_err();
        let later =
            if late_last { StopReason::DeadlineExceeded } else { StopReason::AttemptsExhausted };
        assert_eq!((stopped.reason(), stopped.attempts()), (later, 1));
    }
}
