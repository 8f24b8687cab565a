//! backon, by its builder.

use std::time::Duration;

use backon::{ConstantBuilder, ExponentialBuilder, Retryable};

use crate::subject::{repeat, size_of_future};
use crate::{BASE, CallError, Gateway, MAX_ATTEMPTS, Scenario, Subject};

pub(super) const SUBJECT: Subject = Subject {
    name: "backon",
    deadline: "none",
    run: |scenario, times| match scenario {
        Scenario::Ready | Scenario::WaitsOnce => repeat!(scenario, times, charge),
        Scenario::ThreeFailures => repeat!(scenario, times, charge_without_waits),
    },
    future_size: || size_of_future(send),
};

/// backon counts retries.
const RETRIES: usize = MAX_ATTEMPTS as usize - 1;

const BACKOFF: ExponentialBuilder =
    ExponentialBuilder::new().with_min_delay(BASE).with_max_times(RETRIES);

async fn charge(gateway: &Gateway) -> Result<u64, CallError> {
    (|| gateway.attempt()).retry(BACKOFF).when(CallError::is_transient).await
}

async fn charge_without_waits(gateway: &Gateway) -> Result<u64, CallError> {
    let backoff = ConstantBuilder::new().with_delay(Duration::ZERO).with_max_times(RETRIES);
    (|| gateway.attempt()).retry(backoff).when(CallError::is_transient).await
}

async fn send(gateway: &Gateway, order: String) -> Result<u64, CallError> {
    (|| gateway.send(&order)).retry(BACKOFF).when(CallError::is_transient).await
}
