//! Layers of operations: what an inner one has given up is not retried.
#![allow(clippy::unwrap_used, reason = "in helpers of tests")]

use std::sync::atomic::{AtomicU32, Ordering};

use retry_core::clock::VirtualClock;
use retry_core::{Classify, Clock as _, Failure, StopReason, Stopped, retryable};

/// How often the innermost body ran.
#[derive(Default)]
struct Calls(AtomicU32);

impl Calls {
    fn count(&self) -> u32 {
        self.0.fetch_add(1, Ordering::Relaxed) + 1
    }
}

#[derive(Debug, Classify)]
#[retry(transient)]
struct Busy;

#[derive(Debug, Classify)]
enum Told {
    #[retry(delegate)]
    Inner(Stopped<Busy>),
    #[retry(delegate)]
    Middle(Box<Stopped<Told>>),
}

/// An error that has lost what was inside.
#[derive(Debug, Classify)]
#[retry(transient)]
struct Unavailable;

#[derive(Debug, Classify)]
enum Overruled {
    #[retry(transient)]
    Inner(#[allow(dead_code)] Stopped<Busy>),
    #[retry(transient)]
    Middle(#[allow(dead_code)] Box<Stopped<Overruled>>),
}

#[retryable(idempotent, max_attempts = 3, deadline = "1h")]
async fn innermost(calls: &Calls) -> Result<(), Stopped<Busy>> {
    calls.count();
    Err(Busy)
}

#[retryable(idempotent, max_attempts = 3, deadline = "1h")]
async fn middle(calls: &Calls) -> Result<(), Stopped<Told>> {
    innermost(calls).await.map_err(Told::Inner)
}

#[retryable(idempotent, max_attempts = 3, deadline = "1h")]
async fn outermost(calls: &Calls) -> Result<(), Stopped<Told>> {
    middle(calls).await.map_err(|stopped| Told::Middle(Box::new(stopped)))
}

#[retryable(idempotent, max_attempts = 3, deadline = "1h")]
async fn middle_converted(calls: &Calls) -> Result<(), Stopped<Unavailable>> {
    innermost(calls).await.map_err(|_| Unavailable)
}

#[retryable(idempotent, max_attempts = 3, deadline = "1h")]
async fn outermost_converted(calls: &Calls) -> Result<(), Stopped<Unavailable>> {
    middle_converted(calls).await.map_err(|_| Unavailable)
}

async fn ran<T, E>(
    operation: impl AsyncFnOnce(&Calls) -> Result<T, Stopped<E>>,
) -> (u32, StopReason) {
    let calls = Calls::default();
    let stopped = VirtualClock::new().scope(operation(&calls)).await.err().unwrap();
    (calls.0.into_inner(), stopped.reason())
}

#[tokio::test]
async fn three_layers_of_three_attempts_make_three_calls() {
    assert_eq!(ran(outermost).await, (3, StopReason::AttemptsExhausted));
}

#[tokio::test]
async fn an_error_that_was_converted_does_not_hide_the_stop() {
    assert_eq!(ran(outermost_converted).await, (3, StopReason::AttemptsExhausted));
}

/// Written by hand, and shown by nothing but the scope.
#[retryable(idempotent, max_attempts = 3, deadline = "1h", error = Busy)]
async fn behind_a_signature(calls: &Calls) -> Result<(), Unavailable> {
    calls.count();
    Err(Busy)
}

impl From<Stopped<Busy>> for Unavailable {
    fn from(_: Stopped<Busy>) -> Self {
        Self
    }
}

#[retryable(idempotent, max_attempts = 3, deadline = "1h")]
async fn around_a_signature(calls: &Calls) -> Result<(), Stopped<Unavailable>> {
    behind_a_signature(calls).await
}

#[tokio::test]
async fn error_does_not_hide_the_stop() {
    assert_eq!(ran(around_a_signature).await, (3, StopReason::AttemptsExhausted));
}

#[tokio::test]
async fn the_text_of_a_hidden_stop_says_that_it_was_nested() {
    let calls = Calls::default();
    let stopped = VirtualClock::new().scope(middle_converted(&calls)).await.unwrap_err();
    assert_eq!(stopped.attempts(), 1);
    let because = stopped.stop().to_string();
    assert!(because.starts_with("a nested operation had stopped"), "{because}");
}

#[retryable(idempotent, max_attempts = 3, deadline = "1h")]
async fn middle_overruled(calls: &Calls) -> Result<(), Stopped<Overruled>> {
    innermost(calls).await.map_err(Overruled::Inner)
}

#[retryable(idempotent, max_attempts = 3, deadline = "1h")]
async fn outermost_overruled(calls: &Calls) -> Result<(), Stopped<Overruled>> {
    middle_overruled(calls).await.map_err(|stopped| Overruled::Middle(Box::new(stopped)))
}

/// 27 calls without a limit. Each retry in a nested operation is one of the
/// product of the attempt numbers, and none makes it more than ten.
#[tokio::test]
async fn transient_on_a_stop_overrules_it_up_to_the_nesting_limit() {
    let (calls, reason) = ran(outermost_overruled).await;
    assert_eq!(reason, StopReason::AttemptsExhausted);
    assert!(calls < 27, "{calls}");
    assert_eq!(calls, 20);
}

#[retryable(idempotent, max_attempts = 3, deadline = "1h", nested = retry)]
async fn middle_retried(calls: &Calls) -> Result<(), Stopped<Unavailable>> {
    innermost(calls).await.map_err(|_| Unavailable)
}

#[retryable(idempotent, max_attempts = 3, deadline = "1h", nested = retry)]
async fn middle_retried_and_told(calls: &Calls) -> Result<(), Stopped<Told>> {
    innermost(calls).await.map_err(Told::Inner)
}

#[tokio::test]
async fn nested_retry_retries_what_was_given_up() {
    assert_eq!(ran(middle_retried).await, (9, StopReason::AttemptsExhausted));
    assert_eq!(ran(middle_retried_and_told).await, (9, StopReason::AttemptsExhausted));
}

#[derive(Debug)]
struct Declined;

impl Classify for Declined {
    fn classify(&self) -> Failure {
        Failure::permanent()
    }
}

#[retryable(idempotent, max_attempts = 3, deadline = "1h")]
async fn declined(calls: &Calls) -> Result<(), Stopped<Declined>> {
    calls.count();
    Err(Declined)
}

#[retryable(idempotent, max_attempts = 3, deadline = "1h", nested = retry)]
async fn around_declined(calls: &Calls) -> Result<(), Stopped<Unavailable>> {
    declined(calls).await.map_err(|_| Unavailable)
}

/// It was not given up: it cannot succeed.
#[tokio::test]
async fn nested_retry_does_not_retry_what_is_permanent() {
    assert_eq!(ran(around_declined).await, (1, StopReason::FailPermanent));
}

#[retryable(idempotent, max_attempts = 3, deadline = "1h")]
async fn falls_back(calls: &Calls) -> Result<u32, Stopped<Unavailable>> {
    match innermost(calls).await {
        Ok(()) => Ok(0),
        Err(_) => Ok(7),
    }
}

#[tokio::test]
async fn a_stop_that_the_body_copes_with_fails_nothing() {
    let calls = Calls::default();
    let result = VirtualClock::new().scope(falls_back(&calls)).await;
    assert_eq!(result.unwrap(), 7);
}

#[retryable(idempotent, max_attempts = 3, deadline = "1h")]
async fn falls_back_then_fails(calls: &Calls) -> Result<u32, Stopped<Unavailable>> {
    if calls.0.load(Ordering::Relaxed) < 3 {
        let _ = innermost(calls).await;
        return Ok(1);
    }
    calls.count();
    Err(Unavailable)
}

/// The next attempt hears nothing of the one before.
#[tokio::test]
async fn a_stop_counts_for_its_own_attempt_only() {
    let calls = Calls(AtomicU32::new(3));
    let stopped = VirtualClock::new().scope(falls_back_then_fails(&calls)).await.unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::AttemptsExhausted, 3));
    assert!(stopped.failures().iter().all(|failed| failed.failure().inner().is_none()));
}

#[retryable(idempotent, max_attempts = 3, deadline = "1h", before_retry = refresh(calls))]
async fn refreshed(calls: &Calls) -> Result<(), Stopped<Unavailable>> {
    calls.count();
    Err(Unavailable)
}

/// It cannot fail: what it could not do, the next attempt finds out.
async fn refresh(calls: &Calls) {
    let _ = innermost(&Calls(AtomicU32::new(calls.0.load(Ordering::Relaxed)))).await;
}

#[tokio::test]
async fn a_stop_in_a_hook_is_not_the_next_attempts() {
    assert_eq!(ran(refreshed).await, (3, StopReason::AttemptsExhausted));
}
