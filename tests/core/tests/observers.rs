//! What observers can tell from the events alone.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use retry_core::clock::VirtualClock;
use retry_core::observe::{AttemptFailed, AttemptStarted, OperationStopped, Succeeded};
use retry_core::{Backoff, Jitter, Observer, Operation, Policy, Retrier};
use retry_core_tests::{BUSY, Failed, block_on};

const SECOND: Duration = Duration::from_secs(1);

/// Waits of 1, 2, 4, … seconds.
fn policy(max_attempts: u32) -> Policy {
    Policy::new(max_attempts, 3600 * SECOND)
        .backoff(Backoff::exponential(SECOND).jitter(Jitter::None).cap(600 * SECOND))
}

fn retrier(observer: &(impl Observer + Clone)) -> Retrier {
    Retrier::builder().observer(observer.clone()).build()
}

/// The sums behind the operators' ratios.
#[derive(Debug, Default, PartialEq)]
struct Sums {
    retries: u32,
    waited: Duration,
    scheduled: Duration,
    successes_after_retry: u32,
}

#[derive(Clone, Default)]
struct Ratios(Arc<Mutex<Sums>>);

impl Observer for Ratios {
    fn attempt_started(&self, event: &AttemptStarted<'_>) {
        let mut sums = self.0.lock().unwrap();
        sums.retries += u32::from(event.attempt > 1);
        sums.waited += event.waited;
    }

    fn attempt_failed(&self, event: &AttemptFailed<'_>) {
        self.0.lock().unwrap().scheduled += event.delay().unwrap_or_default();
    }

    fn succeeded(&self, event: &Succeeded<'_>) {
        self.0.lock().unwrap().successes_after_retry += u32::from(event.attempts > 1);
    }
}

#[test]
fn the_ratios_follow_from_events_alone() {
    let ratios = Ratios::default();
    let operation = Operation::idempotent("op", policy(3)).with(&retrier(&ratios));
    let succeeds_at = |good: u32| {
        let running = operation.clone().run(move |attempt| async move {
            if attempt.number() < good { Err(BUSY) } else { Ok(()) }
        });
        block_on(&VirtualClock::new(), running).is_ok()
    };
    assert_eq!([1, 2, 3, 4].map(succeeds_at), [true, true, true, false]);
    let sums =
        Sums { retries: 5, waited: 7 * SECOND, scheduled: 7 * SECOND, successes_after_retry: 2 };
    assert_eq!(*ratios.0.lock().unwrap(), sums);
}

/// Operation, depth and product of what was heard.
#[derive(Clone, Default)]
struct Places(Arc<Mutex<Vec<(String, u32, u32)>>>);

impl Places {
    fn push(&self, what: &str, name: &str, depth: u32, product: u32) {
        self.0.lock().unwrap().push((format!("{name} {what}"), depth, product));
    }
}

impl Observer for Places {
    fn attempt_started(&self, event: &AttemptStarted<'_>) {
        self.push("starts", event.operation.name(), event.depth, event.product);
    }

    fn attempt_failed(&self, event: &AttemptFailed<'_>) {
        self.push("fails", event.operation.name(), event.depth, event.product);
    }

    fn stopped(&self, event: &OperationStopped<'_>) {
        self.push("stops", event.operation.name(), event.depth, event.product);
    }
}

#[test]
fn depth_and_product_are_those_of_the_attempt_that_is_told() {
    let places = Places::default();
    let retrier = retrier(&places);
    let inner = Operation::idempotent("inner", policy(2)).with(&retrier);
    let outer = Operation::idempotent("outer", policy(2)).with(&retrier).retry_nested();
    let running = outer.run(|_| {
        let inner = inner.clone();
        async move { inner.run(|_| async { Err::<(), _>(BUSY) }).await.map_err(|_| BUSY) }
    });
    block_on(&VirtualClock::new(), running).unwrap_err();
    let heard = places.0.lock().unwrap().clone();
    let expected = [
        ("outer starts", 1, 1),
        ("inner starts", 2, 1),
        ("inner fails", 2, 1),
        ("inner starts", 2, 2),
        ("inner fails", 2, 2),
        ("inner stops", 2, 2),
        ("outer fails", 1, 1),
        ("outer starts", 1, 2),
        ("inner starts", 2, 2),
        ("inner fails", 2, 2),
        ("inner starts", 2, 4),
        ("inner fails", 2, 4),
        ("inner stops", 2, 4),
        ("outer fails", 1, 2),
        ("outer stops", 1, 2),
    ];
    assert_eq!(heard, expected.map(|(what, depth, product)| (what.to_owned(), depth, product)));
}

#[test]
fn a_stop_before_the_first_attempt_counts_it_as_one() {
    let places = Places::default();
    let operation = Operation::idempotent("op", policy(0)).with(&retrier(&places));
    let running = operation.run(|_| async { Ok::<_, Failed>(()) });
    block_on(&VirtualClock::new(), running).unwrap_err();
    assert_eq!(*places.0.lock().unwrap(), [("op stops".to_owned(), 1, 1)]);
}
