//! The service: one method, whose attribute says within which bounds it is
//! repeated, why that is safe, and that it survives the process.

use std::time::Duration;

use reqwest::{Client, StatusCode};
use retry_core::reqwest::SendError;
use retry_core::{Backoff, Classify, IdempotencyKey, Retrier, Stopped, retryable};
use retry_examples::gateway::Receipt;
use serde::Serialize;

/// How many attempts an order has, over all processes that work on it.
pub(crate) const MAX_ATTEMPTS: u32 = 6;

#[derive(Debug, thiserror::Error, Classify)]
pub(crate) enum PayError {
    #[error("declined")]
    #[retry(permanent)]
    Declined,
    #[error(transparent)]
    #[retry(delegate)] // the connection decides, or the status and its `Retry-After`
    Call(SendError),
    #[error(transparent)]
    #[retry(delegate)] // cut off: try again; not to be understood: a person decides
    Answer(#[from] reqwest::Error),
}

/// Kept with the operation: another order under the same id is refused.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Order {
    #[serde(rename = "order")]
    pub(crate) id: String,
    pub(crate) account: String,
    /// In cents.
    pub(crate) amount: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Payments {
    pub(crate) client: Client,
    pub(crate) gateway: String,
    pub(crate) retries: Retrier,
}

impl Payments {
    /// Asked again for an order, by this process or a later one, it answers what is
    /// recorded, or goes on with the count and the wait that are stored.
    #[retryable(
        durable, name = "payments.charge", key = order.id, attempt, with = self.retries,
        max_attempts = MAX_ATTEMPTS, deadline = "60s", attempt_timeout = "500ms",
        backoff = Backoff::exponential(Duration::from_millis(20)).cap(Duration::from_millis(500)),
        on_in_flight = attach,
    )]
    pub(crate) async fn charge(&self, order: &Order) -> Result<Receipt, Stopped<PayError>> {
        let request = self.client.post(format!("{}/charges", self.gateway)).json(order);
        let response = attempt.send(request).key(key).await?;
        Ok(response.json().await?)
    }
}

impl Order {
    /// The orders are numbered from 1.
    pub(crate) fn number(number: u32) -> Self {
        Self {
            id: format!("order-{number}"),
            account: format!("account-{}", number.div_ceil(4)),
            amount: u64::from(number) * 100,
        }
    }

    /// Under which it is charged.
    pub(crate) fn key(&self) -> Option<IdempotencyKey> {
        IdempotencyKey::derive("payments.charge", &self.id).ok()
    }
}

impl From<SendError> for PayError {
    fn from(error: SendError) -> Self {
        match error.status() {
            Some(StatusCode::PAYMENT_REQUIRED) => Self::Declined,
            _ => Self::Call(error),
        }
    }
}
