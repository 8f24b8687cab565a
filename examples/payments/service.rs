//! The service: each method is one attempt, and its attribute says within which
//! bounds it is repeated, and why that is safe.

use reqwest::{Client, StatusCode};
use retry_core::reqwest::SendError;
use retry_core::{Classify, Retrier, Stopped, retryable};
use retry_examples::gateway::{Balance, Directory, Label, Receipt};
use serde::Serialize;

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
    pub(crate) gateway: Directory,
    pub(crate) retries: Retrier,
}

impl Payments {
    /// Repeated under one key, by which the gateway sees that it is one charge.
    #[retryable(
        name = "payments.charge", key = order.id, attempt, with = self.retries,
        max_attempts = 5, deadline = "30s", attempt_timeout = "1s",
    )]
    pub(crate) async fn charge(&self, order: &Order) -> Result<Receipt, Stopped<PayError>> {
        let url = self.gateway.url("/charges", &order.id, attempt.number());
        let response = attempt.send(self.client.post(url).json(order)).key(key).await?;
        Ok(response.json().await?)
    }

    /// Repeated as it is: asking twice is harmless.
    #[retryable(
        name = "payments.balance", idempotent, attempt, with = self.retries,
        max_attempts = 5, deadline = "30s", attempt_timeout = "1s",
    )]
    pub(crate) async fn balance(&self, account: &str) -> Result<Balance, Stopped<PayError>> {
        let path = format!("/balance/{account}");
        let url = self.gateway.url(&path, account, attempt.number());
        let response = attempt.send(self.client.get(url)).await?;
        Ok(response.json().await?)
    }

    /// Repeated only where certainly nothing was printed.
    #[retryable(
        name = "payments.print_label", at_most_once, attempt, with = self.retries,
        max_attempts = 5, deadline = "30s", attempt_timeout = "1s",
    )]
    pub(crate) async fn print_label(&self, label: &Label) -> Result<(), Stopped<PayError>> {
        let url = self.gateway.url("/labels", &label.parcel, attempt.number());
        attempt.send(self.client.post(url).json(label)).await?;
        Ok(())
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
