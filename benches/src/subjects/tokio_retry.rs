//! tokio-retry.

use std::time::Duration;

use tokio_retry::RetryIf;
use tokio_retry::strategy::{ExponentialBackoff, FixedInterval};

use crate::subject::{repeat, size_of_future};
use crate::{CallError, Gateway, MAX_ATTEMPTS, Scenario, Subject};

pub(super) const SUBJECT: Subject = Subject {
    name: "tokio-retry",
    deadline: "none",
    run: |scenario, times| match scenario {
        Scenario::Ready | Scenario::WaitsOnce => repeat!(scenario, times, charge),
        Scenario::ThreeFailures => repeat!(scenario, times, charge_without_waits),
    },
    future_size: || size_of_future(send),
};

/// tokio-retry counts retries.
const RETRIES: usize = MAX_ATTEMPTS as usize - 1;

/// 2 ms, 4 ms, 8 ms, times 50.
fn strategy() -> impl Iterator<Item = Duration> {
    ExponentialBackoff::from_millis(2).factor(50).take(RETRIES)
}

async fn charge(gateway: &Gateway) -> Result<u64, CallError> {
    RetryIf::start(strategy(), || gateway.attempt(), CallError::is_transient).await
}

async fn charge_without_waits(gateway: &Gateway) -> Result<u64, CallError> {
    let strategy = FixedInterval::new(Duration::ZERO).take(RETRIES);
    RetryIf::start(strategy, || gateway.attempt(), CallError::is_transient).await
}

async fn send(gateway: &Gateway, order: String) -> Result<u64, CallError> {
    RetryIf::start(strategy(), || gateway.send(&order), CallError::is_transient).await
}
