//! tokio-retry2.

use std::time::Duration;

use tokio_retry2::strategy::{ExponentialBackoff, FixedInterval};
use tokio_retry2::{Retry, RetryError};

use crate::subject::{repeat, size_of_future};
use crate::{CallError, Gateway, MAX_ATTEMPTS, Scenario, Subject};

pub(super) const SUBJECT: Subject = Subject {
    name: "tokio-retry2",
    deadline: "none",
    run: |scenario, times| match scenario {
        Scenario::Ready | Scenario::WaitsOnce => repeat!(scenario, times, charge),
        Scenario::ThreeFailures => repeat!(scenario, times, charge_without_waits),
    },
    future_size: || size_of_future(send),
};

/// tokio-retry2 counts retries.
const RETRIES: usize = MAX_ATTEMPTS as usize - 1;

/// 2 ms, 4 ms, 8 ms, times 50.
fn strategy() -> impl Iterator<Item = Duration> {
    ExponentialBackoff::from_millis(2).factor(50).take(RETRIES)
}

/// The error says in the body whether another attempt can help.
fn classified(error: CallError) -> RetryError<CallError> {
    if error.is_transient() { RetryError::transient(error) } else { RetryError::permanent(error) }
}

async fn charge(gateway: &Gateway) -> Result<u64, CallError> {
    Retry::spawn(strategy(), async || gateway.attempt().await.map_err(classified)).await
}

async fn charge_without_waits(gateway: &Gateway) -> Result<u64, CallError> {
    let strategy = FixedInterval::new(Duration::ZERO).take(RETRIES);
    Retry::spawn(strategy, async || gateway.attempt().await.map_err(classified)).await
}

async fn send(gateway: &Gateway, order: String) -> Result<u64, CallError> {
    Retry::spawn(strategy(), async || gateway.send(&order).await.map_err(classified)).await
}
