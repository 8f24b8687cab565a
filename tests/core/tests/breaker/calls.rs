//! `Breaker::call`: cases K2, K3 and K5 with futures.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use retry_core::breaker::{CallError, Outcome, State};
use retry_core::clock::{Clock as _, VirtualClock};
use retry_core::{Breaker, Classify, Failure, Operation, Policy, StopReason};
use retry_core_tests::{BUSY, Failed, block_on, sleep, turn};

const SECOND: Duration = Duration::from_secs(1);
const TURNS: u32 = 3;

/// Half-open with one place, on a clock.
fn half_open() -> (Breaker, VirtualClock) {
    let breaker = Breaker::consecutive(1, SECOND).name("gateway").process(0).build().unwrap();
    let clock = VirtualClock::new();
    breaker.open(clock.now(), Some(Duration::ZERO));
    (breaker, clock)
}

async fn turns(result: Result<(), Failed>) -> Result<(), Failed> {
    for _ in 0..TURNS {
        turn().await;
    }
    result
}

/// Polls so many times, then drops.
fn poll_times<F: Future>(future: F, times: u32) -> Poll<F::Output> {
    let mut future = pin!(future);
    let mut polled = Poll::Pending;
    for _ in 0..times {
        polled = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    }
    polled
}

#[test]
fn a_call_that_is_dropped_at_any_await_gives_its_place_back() {
    let (breaker, clock) = half_open();
    for times in 0..=TURNS {
        let call = clock.clone().scope(breaker.call(turns(Ok(()))));
        assert!(poll_times(call, times).is_pending());
        assert_eq!(breaker.state(clock.now()), State::HalfOpen { free: 1 }, "after {times} polls");
    }
    let call = clock.clone().scope(breaker.call(turns(Ok(()))));
    assert!(poll_times(call, TURNS + 1).is_ready());
    assert_eq!(breaker.state(clock.now()), State::Closed);
}

#[test]
fn a_permit_in_a_future_that_is_never_polled_comes_back() {
    let (breaker, clock) = half_open();
    let permit = breaker.admit(clock.now()).unwrap();
    assert!(breaker.admit(clock.now()).is_err());
    let now = clock.now();
    let call = async move { permit.settle(now, Outcome::Failure) };
    drop(call);
    assert_eq!(breaker.state(clock.now()), State::HalfOpen { free: 1 });
}

#[test]
fn a_call_that_panics_gives_its_place_back() {
    let (breaker, clock) = half_open();
    let call = breaker.call(async {
        turn().await;
        if true {
            panic!("in a call")
        }
        Ok::<(), Failed>(())
    });
    assert!(catch_unwind(AssertUnwindSafe(|| block_on(&clock, call))).is_err());
    assert_eq!(breaker.state(clock.now()), State::HalfOpen { free: 1 });
}

#[test]
fn cancellation_by_the_caller_never_opens_it() {
    let breaker = Breaker::consecutive(2, SECOND).build().unwrap();
    let clock = VirtualClock::new();
    for _ in 0..9 {
        assert!(poll_times(breaker.call(turns(Err(BUSY))), 1).is_pending());
    }
    assert_eq!(breaker.state(clock.now()), State::Closed);
    // Nor did it count as the first of two.
    let failed = block_on(&clock, breaker.call(turns(Err(BUSY))));
    assert!(matches!(failed, Err(CallError::Failed(BUSY))));
    assert_eq!(breaker.state(clock.now()), State::Closed);
}

#[test]
fn what_a_call_came_to_counts_on_the_clock_of_the_scope() {
    let (breaker, clock) = half_open();
    let slow = async {
        sleep(&clock, 10 * SECOND).await;
        Err::<(), _>(BUSY)
    };
    assert!(block_on(&clock, breaker.call(slow)).is_err());
    let State::Open { until: Some(until) } = breaker.state(clock.now()) else { panic!("closed") };
    assert!(until >= clock.now() + SECOND);
    let refused = block_on(&clock, breaker.call(turns(Ok(())))).unwrap_err();
    let text = refused.to_string();
    assert!(text.starts_with("the circuit breaker of gateway is open for another 1."), "{text}");
    clock.advance(2 * SECOND);
    assert!(block_on(&clock, breaker.call(turns(Ok(())))).is_ok());
    assert_eq!(breaker.state(clock.now()), State::Closed);
}

#[test]
fn a_permanent_failure_closes_a_half_open_breaker() {
    let (breaker, clock) = half_open();
    let declined = Failed(Failure::permanent());
    assert!(block_on(&clock, breaker.call(turns(Err(declined)))).is_err());
    assert_eq!(breaker.state(clock.now()), State::Closed);
}

#[test]
fn an_operation_stops_with_circuit_open_where_its_call_is_refused() {
    let (breaker, clock) = half_open();
    breaker.open(clock.now(), None);
    let operation = Operation::idempotent("fetch", Policy::new(5, 60 * SECOND));
    let run = operation.run(|_| breaker.call(turns(Ok(()))));
    let stopped = block_on(&clock, run).unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::CircuitOpen, 1));
    assert_eq!(stopped.error().unwrap().classify().inner(), Some(StopReason::CircuitOpen));
}

#[test]
fn a_call_is_little_larger_than_its_future() {
    let breaker = Breaker::default();
    let inner = turns(Ok(()));
    let size = size_of_val(&inner);
    assert!(size_of_val(&breaker.call(inner)) <= size + 40);
}
