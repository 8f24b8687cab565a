//! What an attempt learns of the code that is polled in it, and what it cannot
//! learn. Every operation fails until it stops, and the other side counts calls.
#![allow(missing_docs)]

use std::future::{Future, ready};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures::future::join_all;
use futures::stream::{FuturesUnordered, StreamExt};
use retry_core::clock::{Clock, VirtualClock};
use retry_core::{Classify, StopReason, Stopped, non_idempotent, retryable, within};

#[derive(Debug, thiserror::Error, Classify)]
pub enum Fault {
    #[error("answered")]
    #[retry(transient)]
    Answered,
    #[error("unreachable")]
    #[retry(transient, no_effect)]
    Unreachable,
    #[error(transparent)]
    #[retry(delegate)]
    Inner(#[from] Stopped<Fault>),
}

/// The other side.
#[derive(Default)]
struct Bank(AtomicU32);

impl Bank {
    fn calls(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    #[non_idempotent]
    async fn charge(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
        ready(()).await;
    }

    /// A helper: its type says nothing of the call in it.
    async fn settle(&self) {
        self.charge().await;
    }
}

/// A macro that is not in the body, where nothing can be put into it.
macro_rules! wait_for {
    ($call:expr) => {
        $call.await
    };
}

async fn wait_for_any<F: IntoFuture>(future: F) -> F::Output {
    future.await
}

/// How an operation stopped, after how many attempts and calls.
fn stop<F, T>(operation: impl FnOnce(&'static Bank) -> F) -> Option<(StopReason, u32, u32)>
where
    F: Future<Output = Result<T, Stopped<Fault>>>,
{
    let bank: &'static Bank = Box::leak(Box::default());
    let stopped = futures::executor::block_on(VirtualClock::new().scope(operation(bank)));
    let stopped = stopped.err()?;
    Some((stopped.reason(), stopped.attempts(), bank.calls()))
}

/// One attempt, one call, and the reason.
const SEEN: Option<(StopReason, u32, u32)> = Some((StopReason::NotIdempotent, 1, 1));

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn in_a_helper(bank: &Bank) -> Result<(), Stopped<Fault>> {
    bank.settle().await;
    Err(Fault::Answered)
}

#[retryable(name = "bank.settle", key = "one", max_attempts = 3, deadline = "5s")]
async fn in_a_helper_beside_a_key(bank: &Bank) -> Result<String, Stopped<Fault>> {
    bank.settle().await;
    if bank.calls() < 9 { Err(Fault::Unreachable) } else { Ok(key.to_string()) }
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn in_a_generic_helper(bank: &Bank) -> Result<(), Stopped<Fault>> {
    wait_for_any(bank.charge()).await;
    Err(Fault::Answered)
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn in_a_macro_from_outside(bank: &Bank) -> Result<(), Stopped<Fault>> {
    wait_for!(bank.charge());
    Err(Fault::Answered)
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn by_the_path_of_a_method(bank: &Bank) -> Result<(), Stopped<Fault>> {
    IntoFuture::into_future(bank.charge()).await;
    Err(Fault::Answered)
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn under_another_name(bank: &Bank) -> Result<(), Stopped<Fault>> {
    use tokio::join as both;
    both!(bank.charge(), ready(()));
    Err(Fault::Answered)
}

/// An attempt that is cut has failed, too.
#[retryable(idempotent, max_attempts = 3, deadline = "5s", attempt_timeout = "1s")]
async fn before_a_timeout(bank: &Bank) -> Result<(), Stopped<Fault>> {
    bank.settle().await;
    std::future::pending().await
}

#[test]
fn a_call_that_types_do_not_show_runs_once() {
    assert_eq!(stop(in_a_helper), SEEN);
    assert_eq!(stop(in_a_helper_beside_a_key), SEEN);
    assert_eq!(stop(in_a_generic_helper), SEEN);
    assert_eq!(stop(in_a_macro_from_outside), SEEN);
    assert_eq!(stop(by_the_path_of_a_method), SEEN);
    assert_eq!(stop(under_another_name), SEEN);
    assert_eq!(stop(before_a_timeout), SEEN);
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn joined(bank: &Bank) -> Result<(), Stopped<Fault>> {
    join_all([bank.settle(), bank.settle()]).await;
    Err(Fault::Answered)
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn unordered(bank: &Bank) -> Result<(), Stopped<Fault>> {
    let mut calls: FuturesUnordered<_> = (0..2).map(|_| bank.settle()).collect();
    while calls.next().await.is_some() {}
    Err(Fault::Answered)
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn in_a_local_task(bank: &'static Bank) -> Result<(), Stopped<Fault>> {
    let tasks = tokio::task::LocalSet::new();
    let calls = tasks.run_until(async {
        let first = tokio::task::spawn_local(bank.settle());
        let second = tokio::task::spawn_local(bank.settle());
        first.await.and(second.await)
    });
    calls.await.map_err(|_| Fault::Unreachable)?;
    Err(Fault::Answered)
}

/// Whatever polls it, as long as the attempt polls that.
#[test]
fn calls_in_futures_of_futures_run_in_one_attempt() {
    let seen_twice = Some((StopReason::NotIdempotent, 1, 2));
    assert_eq!(stop(joined), seen_twice);
    assert_eq!(stop(unordered), seen_twice);
    assert_eq!(stop(in_a_local_task), seen_twice);
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn nested(bank: &Bank) -> Result<(), Stopped<Fault>> {
    Ok(in_a_helper(bank).await?)
}

/// The stop of the inner operation does not show in the error.
#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn nested_and_converted(bank: &Bank) -> Result<(), Stopped<Fault>> {
    in_a_helper(bank).await.map_err(|_| Fault::Answered)
}

/// The inner operation is content with its one call.
#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn succeeds(bank: &Bank) -> Result<(), Stopped<Fault>> {
    bank.settle().await;
    Ok(())
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn nested_and_succeeded(bank: &Bank) -> Result<(), Stopped<Fault>> {
    succeeds(bank).await?;
    Err(Fault::Answered)
}

#[test]
fn a_nested_operation_does_not_repeat_it_either() {
    assert_eq!(stop(nested), SEEN);
    assert_eq!(stop(nested_and_converted), SEEN);
    assert_eq!(stop(nested_and_succeeded), SEEN);
}

#[retryable(at_most_once, max_attempts = 3, deadline = "5s")]
async fn once(bank: &Bank) -> Result<(), Stopped<Fault>> {
    bank.charge().await;
    Ok(())
}

async fn once_in_a_helper(bank: &Bank) -> Result<(), Fault> {
    Ok(once(bank).await?)
}

/// What the other side makes of it is its own: the first attempt counts.
#[retryable(at_most_once, max_attempts = 3, deadline = "5s")]
async fn once_and_unmarked(bank: &Bank) -> Result<(), Stopped<Fault>> {
    bank.0.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn a_later_call_fails(bank: &Bank) -> Result<(), Stopped<Fault>> {
    once_in_a_helper(bank).await?;
    Err(Fault::Unreachable)
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn a_later_call_fails_after_no_mark(bank: &Bank) -> Result<(), Stopped<Fault>> {
    once_and_unmarked(bank).await?;
    Err(Fault::Unreachable)
}

#[test]
fn n3_an_at_most_once_operation_inside_an_idempotent_one_runs_once() {
    assert_eq!(stop(a_later_call_fails), SEEN);
    assert_eq!(stop(a_later_call_fails_after_no_mark), SEEN);
}

#[retryable(at_most_once, max_attempts = 3, deadline = "5s")]
async fn one_hidden_call(bank: &Bank) -> Result<(), Stopped<Fault>> {
    bank.settle().await;
    Err(Fault::Unreachable)
}

#[retryable(at_most_once, max_attempts = 3, deadline = "5s")]
async fn two_hidden_calls(bank: &Bank) -> Result<(), Stopped<Fault>> {
    bank.settle().await;
    bank.settle().await;
    Err(Fault::Unreachable)
}

/// `no_effect` speaks for the call that failed, not for the one before it.
#[test]
fn at_most_once_believes_no_effect_of_one_call() {
    assert_eq!(stop(one_hidden_call), Some((StopReason::AttemptsExhausted, 3, 3)));
    assert_eq!(stop(two_hidden_calls), Some((StopReason::ManualReview, 1, 2)));
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn made_and_dropped(bank: &Bank) -> Result<(), Stopped<Fault>> {
    drop(bank.charge());
    drop(bank.settle());
    drop(once(bank));
    Err(Fault::Answered)
}

#[test]
fn a_call_that_is_never_polled_is_none() {
    assert_eq!(stop(made_and_dropped), Some((StopReason::AttemptsExhausted, 3, 0)));
}

#[retryable(idempotent, before_retry = bank.settle(), max_attempts = 5, deadline = "5s")]
async fn between_attempts(bank: &Bank) -> Result<(), Stopped<Fault>> {
    Err(Fault::Answered)
}

#[test]
fn a_call_between_attempts_runs_once() {
    assert_eq!(stop(between_attempts), Some((StopReason::NotIdempotent, 2, 1)));
}

fn settle_in_the_background(bank: &'static Bank) {
    tokio::spawn(bank.settle());
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn handed_to_a_task(bank: &'static Bank) -> Result<(), Stopped<Fault>> {
    settle_in_the_background(bank);
    Err(Fault::Answered)
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn handed_to_a_set(bank: &'static Bank) -> Result<(), Stopped<Fault>> {
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(bank.settle());
    while tasks.join_next().await.is_some() {}
    Err(Fault::Answered)
}

/// A known limit: a task is polled by the runtime, not by the attempt.
#[tokio::test(start_paused = true)]
async fn limit_work_that_a_helper_spawns_is_repeated() {
    for task in [false, true] {
        let bank: &'static Bank = Box::leak(Box::default());
        let stopped = if task { handed_to_a_task(bank).await } else { handed_to_a_set(bank).await };
        let stopped = stopped.unwrap_err();
        tokio::task::yield_now().await;
        assert_eq!(stopped.reason(), StopReason::AttemptsExhausted);
        assert_eq!((stopped.attempts(), bank.calls()), (3, 3));
    }
}

#[retryable(idempotent, max_attempts = 100, deadline = "1h")]
async fn patient() -> Result<(), Stopped<Fault>> {
    Err(Fault::Answered)
}

#[retryable(idempotent, max_attempts = 2, deadline = "3s")]
async fn impatient() -> Result<(), Stopped<Fault>> {
    Ok(patient().await?)
}

#[tokio::test(start_paused = true)]
async fn n2_a_nested_operation_has_what_is_left_outside() {
    let stopped = impatient().await.unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::DeadlineExceeded, 1));
    assert!(stopped.elapsed() < Duration::from_secs(3), "{stopped}");

    let stopped = within(Duration::from_secs(2), impatient()).await.unwrap_err();
    assert_eq!(stopped.reason(), StopReason::DeadlineExceeded);
    assert!(stopped.elapsed() < Duration::from_secs(2), "{stopped}");

    let several = within(Duration::from_secs(2), async {
        (patient().await.unwrap_err(), patient().await.unwrap_err())
    });
    let (first, second) = several.await;
    assert!(first.elapsed() + second.elapsed() < Duration::from_secs(2), "{first}; {second}");
}

/// A known limit, as above.
#[tokio::test(start_paused = true)]
async fn limit_a_spawned_operation_does_not_see_the_deadline() {
    let spawned = async { tokio::spawn(impatient()).await.unwrap() };
    let stopped = within(Duration::from_secs(1), spawned).await.unwrap_err();
    assert!(stopped.elapsed() > Duration::from_secs(1), "{stopped}");
}
