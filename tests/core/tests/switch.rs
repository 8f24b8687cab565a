//! The kill switch and the shutdown of a retrier.
#![allow(clippy::unwrap_used, reason = "in helpers of tests")]

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use retry_core::clock::VirtualClock;
use retry_core::{
    Backoff, Breaker, Budget, Clock as _, Jitter, Kind, OnRefusal, Operation, Policy, Resource,
    Retrier, StopReason, Stopped,
};
use retry_core_tests::{BUSY, Failed, block_on};

const SECOND: Duration = Duration::from_secs(1);

fn policy() -> Policy {
    Policy::new(5, 3600 * SECOND).backoff(Backoff::fixed(60 * SECOND).jitter(Jitter::None))
}

fn operation(retrier: &Retrier) -> impl Future<Output = Result<(), Stopped<Failed>>> {
    let operation = Operation::idempotent("op", policy()).with(retrier);
    operation.run(|_| async { Err::<(), _>(BUSY) })
}

/// Counts how often it was woken.
#[derive(Default)]
struct Woken(AtomicU32);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn switched_off_each_operation_makes_one_attempt() {
    let retrier = Retrier::new();
    retrier.clone().switch_off();
    let stopped = block_on(&VirtualClock::new(), operation(&retrier)).unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::Disabled, 1));
    retrier.switch_on();
    let stopped = block_on(&VirtualClock::new(), operation(&retrier)).unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::AttemptsExhausted, 5));
}

/// Polls until the first wait, turns the switch, and gives what follows.
fn turned(turn: impl FnOnce(&Retrier)) -> (Option<Stopped<Failed>>, u32) {
    let clock = VirtualClock::manual();
    let retrier = Retrier::builder().clock(clock.clone()).build();
    let mut operation = pin!(operation(&retrier));
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut cx = Context::from_waker(&waker);
    assert!(operation.as_mut().poll(&mut cx).is_pending());
    clock.advance(10 * SECOND);
    let before = woken.0.load(Ordering::SeqCst);
    turn(&retrier);
    let after = woken.0.load(Ordering::SeqCst);
    match operation.as_mut().poll(&mut cx) {
        Poll::Ready(result) => (result.err(), after - before),
        Poll::Pending => (None, after - before),
    }
}

#[test]
fn a_wait_that_is_under_way_ends() {
    let (stopped, woken) = turned(Retrier::switch_off);
    let stopped = stopped.unwrap();
    assert_eq!((stopped.reason(), stopped.attempts(), woken), (StopReason::Disabled, 1, 1));
    assert_eq!(stopped.elapsed(), 10 * SECOND);
    assert!(stopped.is_local());

    let (stopped, woken) = turned(Retrier::shutdown);
    let stopped = stopped.unwrap();
    assert_eq!((stopped.reason(), stopped.attempts(), woken), (StopReason::Cancelled, 1, 1));
}

#[test]
fn switched_on_again_before_it_looked_it_waits_as_planned() {
    let (stopped, woken) = turned(|retrier| {
        retrier.switch_off();
        retrier.switch_on();
    });
    assert!(stopped.is_none());
    assert_eq!(woken, 1);
}

#[test]
fn nothing_switches_a_retrier_on_that_was_shut_down() {
    let (stopped, _) = turned(|retrier| {
        retrier.shutdown();
        retrier.switch_on();
        assert!(!retrier.is_switched_on());
    });
    assert_eq!(stopped.unwrap().reason(), StopReason::Cancelled);
}

#[test]
fn an_attempt_that_runs_is_not_cut() {
    let retrier = Retrier::new();
    let operation = Operation::idempotent("op", policy()).with(&retrier);
    let clock = VirtualClock::new();
    let running = operation.run(|_| async {
        retrier.shutdown();
        retry_core_tests::sleep(&clock, SECOND).await;
        Ok::<_, Failed>(7)
    });
    assert_eq!(block_on(&clock, running).unwrap(), 7);
}

/// The limit of nested attempts is the retrier's.
#[test]
fn at_a_nesting_limit_of_one_what_is_inside_does_not_retry() {
    let limit = std::num::NonZeroU32::MIN;
    let retrier = Retrier::builder().nesting_limit(limit).build();
    let outer = Operation::idempotent("outer", policy()).with(&retrier);
    let inner = async |_| operation(&retrier).await;
    let stopped = block_on(&VirtualClock::new(), outer.run(inner)).unwrap_err();
    assert_eq!(stopped.reason(), StopReason::NestingLimit);
    let stopped = stopped.into_error().unwrap();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::NestingLimit, 1));
    // On its own it does.
    let clock = VirtualClock::new();
    let alone = clock.clone().scope(operation(&retrier));
    assert_eq!(block_on(&clock, alone).unwrap_err().attempts(), 5);
}

/// An operation that waits leaves its waker with the switch, the timer, and the
/// line of its budget, each for as long as it waits there.
#[test]
fn what_waits_no_longer_leaves_no_waker_behind() {
    #[derive(Clone, Copy, Debug)]
    enum Waits {
        ForTime,
        InLine,
        ForTheBreaker,
    }
    /// What an operation may await: a minute of backoff, a token, a probe.
    fn waiting(waits: Waits, clock: &VirtualClock) -> (Retrier, Operation) {
        let resource = Resource::new("gateway").on_refusal(OnRefusal::Defer);
        let resource = match waits {
            Waits::ForTime => resource,
            Waits::InLine => {
                let budget = Budget::ratio(0.0).floor(1).size(1).fair_share(false);
                let budget = budget.build().unwrap();
                let now = clock.now();
                budget.caller("another").take(Kind::Other, now).unwrap().spend();
                resource.budget(budget)
            }
            Waits::ForTheBreaker => {
                let breaker = Breaker::consecutive(1, Backoff::fixed(SECOND).jitter(Jitter::None));
                resource.breaker(breaker).unwrap()
            }
        };
        let retrier = Retrier::builder().clock(clock.clone()).resource(resource).unwrap().build();
        let backoff = Backoff::fixed(SECOND / 10).jitter(Jitter::None);
        let operation = Operation::idempotent("op", Policy::new(3, 3600 * SECOND).backoff(backoff));
        (retrier.clone(), operation.with(&retrier).resource("gateway"))
    }
    for waits in [Waits::ForTime, Waits::InLine, Waits::ForTheBreaker] {
        let clock = VirtualClock::manual();
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(Arc::clone(&woken));
        let mut cx = Context::from_waker(&waker);
        let left = || Arc::strong_count(&woken) - 2;

        // The wait ends: the next attempt finds nothing left of it.
        let (_retrier, operation) = waiting(waits, &clock);
        let found = std::sync::Mutex::new(Vec::new());
        let running = operation.run(|_| async {
            found.lock().unwrap().push(left());
            Err::<(), _>(BUSY)
        });
        let mut running = Box::pin(running);
        let mut most = 0;
        for _ in 0..100 {
            if running.as_mut().poll(&mut cx).is_ready() {
                break;
            }
            // The switch's, the timer's, the line's: no more, however often it
            // is polled.
            most = most.max(left());
            clock.advance(SECOND / 20);
        }
        assert_eq!(*found.lock().unwrap(), [0, 0, 0], "{waits:?}");
        assert!((2..=3).contains(&most), "{waits:?}: {most}");
        drop(running);
        assert_eq!(left(), 0, "{waits:?}");

        // It is dropped while it waits.
        let (_retrier, operation) = waiting(waits, &clock);
        let mut running = Box::pin(operation.run(|_| async { Err::<(), _>(BUSY) }));
        for _ in 0..10 {
            assert!(running.as_mut().poll(&mut cx).is_pending());
            clock.advance(SECOND / 60);
        }
        assert!(left() > 0, "{waits:?}");
        drop(running);
        assert_eq!(left(), 0, "{waits:?}");

        // It is switched off.
        let (retrier, operation) = waiting(waits, &clock);
        let mut running = Box::pin(operation.run(|_| async { Err::<(), _>(BUSY) }));
        assert!(running.as_mut().poll(&mut cx).is_pending());
        retrier.switch_off();
        assert!(running.as_mut().poll(&mut cx).is_ready());
        drop(running);
        assert_eq!(left(), 0, "{waits:?}");
    }
}
