//! The same service with this crate: each layer may try three times, and what an
//! inner one has given up no outer one repeats. The store has a budget, of which
//! each tenant has its share.

use std::error::Error;
use std::time::Duration;

use retry_core::{
    Backoff, Budget, Classify, IdempotencyKey, Resource, Retrier, StopReason, Stopped, retryable,
};

use crate::store::{Store, StoreError};
use crate::world::{Order, Outcome, PATIENCE, Service};

#[derive(Debug, thiserror::Error, Classify)]
pub(crate) enum PlaceError {
    #[error(transparent)]
    #[retry(delegate)]
    Reserve(#[from] Stopped<StoreError>),
}

#[derive(Debug, thiserror::Error, Classify)]
pub(crate) enum CheckoutError {
    #[error(transparent)]
    #[retry(delegate)]
    Place(#[from] Stopped<PlaceError>),
}

pub(crate) struct Budgeted<'a> {
    store: &'a Store,
    retries: Retrier,
}

/// Spreads the first retry over half a second, the second over a whole one.
pub(crate) const BACKOFF: Backoff = Backoff::exponential(Duration::from_secs(1));

impl<'a> Budgeted<'a> {
    /// # Errors
    /// The budget cannot be built.
    pub(crate) fn new(store: &'a Store, callers: u32) -> Result<Self, Box<dyn Error>> {
        // One retry in five calls. The bucket holds what a second's calls bring in.
        // A floor would add to it, and is for a service that is seldom called.
        let budget = Budget::ratio(0.2).floor(0).size(callers / 50).build()?;
        let resource = Resource::new("store").budget(budget);
        Ok(Self { store, retries: Retrier::builder().resource(resource)?.build() })
    }

    #[retryable(
        name = "shop.checkout", key = order.number, with = self.retries,
        max_attempts = 3, deadline = "30s",
    )]
    async fn checkout(&self, order: &Order) -> Result<(), Stopped<CheckoutError>> {
        Ok(self.place(order, key).await?)
    }

    #[retryable(
        name = "orders.place", key = key, with = self.retries,
        max_attempts = 3, deadline = "20s",
    )]
    async fn place(&self, order: &Order, key: IdempotencyKey) -> Result<(), Stopped<PlaceError>> {
        Ok(self.reserve(order, key).await?)
    }

    #[retryable(
        name = "stock.reserve", key = key, with = self.retries,
        resource = "store", caller = order.tenant.name(), backoff = BACKOFF,
        max_attempts = 3, deadline = "10s", attempt_timeout = PATIENCE,
    )]
    async fn reserve(&self, order: &Order, key: IdempotencyKey) -> Result<(), Stopped<StoreError>> {
        self.store.reserve(order, Some(key)).await
    }
}

impl Service for Budgeted<'_> {
    async fn serve(&self, order: &Order) -> Outcome {
        match self.checkout(order).await {
            Ok(()) => Outcome::Done,
            // The reason of the innermost, through three layers.
            Err(stopped) if stopped.reason() == StopReason::BudgetExhausted => Outcome::Refused,
            Err(_) => Outcome::Failed,
        }
    }
}
