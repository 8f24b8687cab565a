//! Operations inside operations: how often the innermost one runs.
#![allow(clippy::unwrap_used, reason = "in helpers of tests")]

use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use proptest::prelude::*;
use retry_core::clock::VirtualClock;
use retry_core::{
    Backoff, Classify, Failure, Operation, Policy, Retrier, Situation, StopReason, Stopped,
};
use retry_core_tests::block_on;

/// What each layer makes of what the one inside it gives.
#[derive(Clone, Copy, Debug)]
enum Layer {
    /// Passes the stop on.
    Delegates,
    /// Has lost it.
    Converts,
}

#[derive(Debug)]
struct Error(Failure);

impl Classify for Error {
    fn classify(&self) -> Failure {
        self.0
    }
}

type Boxed<'a> = Pin<Box<dyn Future<Output = Result<(), Stopped<Error>>> + 'a>>;

/// `layers`, the innermost first, each with its attempts.
fn nested<'a>(layers: &'a [(Layer, u32)], calls: &'a AtomicU32, retries: bool) -> Boxed<'a> {
    Box::pin(async move {
        let Some(((layer, attempts), inside)) = layers.split_last() else {
            unreachable!("there is a layer")
        };
        let policy = Policy::new(*attempts, Duration::from_secs(86_400));
        let policy = policy.backoff(Backoff::fixed(Duration::from_secs(1)));
        let operation = Operation::idempotent("layer", policy).with(&Retrier::new());
        let operation = if retries { operation.retry_nested() } else { operation };
        operation
            .run(|_| async {
                if inside.is_empty() {
                    calls.fetch_add(1, Ordering::Relaxed);
                    return Err(Error(Failure::transient()));
                }
                nested(inside, calls, retries).await.map_err(|stopped| match layer {
                    Layer::Delegates => Error(stopped.classify()),
                    Layer::Converts => Error(Failure::transient()),
                })
            })
            .await
    })
}

fn layers() -> impl Strategy<Value = Vec<(Layer, u32)>> {
    let layer = prop_oneof![Just(Layer::Delegates), Just(Layer::Converts)];
    prop::collection::vec((layer, 1..6_u32), 1..6)
}

fn policy(attempts: u32) -> Policy {
    Policy::new(attempts, Duration::from_secs(3600))
}

/// An operation inside that stops for this reason, and is not asked about.
async fn stops(reason: StopReason) {
    let failure = match reason {
        StopReason::ManualReview => Failure::unknown(),
        StopReason::FailPermanent => Failure::permanent(),
        StopReason::AttemptsExhausted => Failure::transient(),
        _ => unreachable!("{reason}"),
    };
    let inside = Operation::idempotent("inside", policy(1));
    let stopped = inside.run(|_| async { Err::<(), _>(Error(failure)) }).await.unwrap_err();
    assert_eq!(stopped.reason(), reason);
}

fn stopped(
    operation: Operation,
    attempt: impl AsyncFn() -> Result<(), Error>,
) -> (StopReason, u32) {
    let running = operation.run(|_| attempt());
    let stopped = block_on(&VirtualClock::new(), running).unwrap_err();
    (stopped.reason(), stopped.attempts())
}

/// A person must look at it, whatever else went wrong in the attempt.
#[test]
fn a_stop_inside_does_not_hide_that_it_may_have_taken_effect() {
    let label = stopped(Operation::at_most_once("label", policy(3)), async || {
        stops(StopReason::AttemptsExhausted).await;
        Err(Error(Failure::transient()))
    });
    assert_eq!(label, (StopReason::ManualReview, 1));

    let tainted = stopped(Operation::idempotent("order", policy(3)), async || {
        let call = Operation::at_most_once("label", policy(1));
        let _ = call.run(|_| async { Ok::<_, Error>(()) }).await;
        stops(StopReason::AttemptsExhausted).await;
        Err(Error(Failure::transient()))
    });
    assert_eq!(tainted, (StopReason::NotIdempotent, 1));
}

/// Of two stops in one attempt the graver one counts, in either order.
#[test]
fn the_graver_of_two_stops_counts() {
    use StopReason::{AttemptsExhausted, FailPermanent, ManualReview};
    for (first, then, heard) in [
        (ManualReview, AttemptsExhausted, ManualReview),
        (AttemptsExhausted, ManualReview, ManualReview),
        (FailPermanent, AttemptsExhausted, FailPermanent),
        (AttemptsExhausted, FailPermanent, FailPermanent),
        (ManualReview, FailPermanent, ManualReview),
    ] {
        for nested in [false, true] {
            let operation = Operation::idempotent("outer", policy(3));
            let operation = if nested { operation.retry_nested() } else { operation };
            let both = async || {
                stops(first).await;
                stops(then).await;
                Err(Error(Failure::transient()))
            };
            assert_eq!(stopped(operation, both), (heard, 1), "{first} {then} {nested}");
        }
    }
}

proptest! {
    /// However deep, and whatever is made of the error on its way.
    #[test]
    fn the_innermost_runs_as_often_as_it_may(layers in layers()) {
        let calls = AtomicU32::new(0);
        let running = nested(&layers, &calls, false);
        let stopped = block_on(&VirtualClock::new(), running).unwrap_err();
        prop_assert_eq!(calls.into_inner(), layers[0].1);
        prop_assert_eq!(stopped.reason(), StopReason::AttemptsExhausted);
        prop_assert_eq!(stopped.attempts(), if layers.len() == 1 { layers[0].1 } else { 1 });
    }

    /// Retried all the same, no retry of a nested operation makes the product of
    /// the attempt numbers pass the limit.
    #[test]
    fn nested_retries_are_bounded(layers in layers()) {
        let calls = AtomicU32::new(0);
        let running = nested(&layers, &calls, true);
        let stopped = block_on(&VirtualClock::new(), running).unwrap_err();
        let all: u64 = layers.iter().map(|(_, attempts)| u64::from(*attempts)).product();
        let calls = u64::from(calls.into_inner());
        prop_assert!(calls <= all);
        if all <= u64::from(Situation::NESTING_LIMIT) {
            prop_assert_eq!(calls, all);
        }
        let reason = stopped.reason();
        let known = [StopReason::AttemptsExhausted, StopReason::NestingLimit];
        prop_assert!(known.contains(&reason), "{}", reason);
    }
}
