//! The service as it is written today: each layer tries three times, a second
//! apart.

use std::pin::pin;
use std::time::Duration;

use futures::future::{Either, select};

use crate::store::{Store, StoreError};
use crate::world::{Order, Outcome, PATIENCE, Service};

pub(crate) struct Naive<'a> {
    pub(crate) store: &'a Store,
}

const TRIES: u32 = 3;
const INTERVAL: Duration = Duration::from_secs(1);

impl Naive<'_> {
    async fn checkout(&self, order: &Order) -> Result<(), StoreError> {
        let mut tries = 1;
        loop {
            match self.place(order).await {
                Err(_) if tries < TRIES => tries += 1,
                result => return result,
            }
            self.store.sleep(INTERVAL).await;
        }
    }

    async fn place(&self, order: &Order) -> Result<(), StoreError> {
        let mut tries = 1;
        loop {
            match self.reserve(order).await {
                Err(_) if tries < TRIES => tries += 1,
                result => return result,
            }
            self.store.sleep(INTERVAL).await;
        }
    }

    async fn reserve(&self, order: &Order) -> Result<(), StoreError> {
        let mut tries = 1;
        loop {
            match self.call(order).await {
                Err(_) if tries < TRIES => tries += 1,
                result => return result,
            }
            self.store.sleep(INTERVAL).await;
        }
    }

    async fn call(&self, order: &Order) -> Result<(), StoreError> {
        let call = pin!(self.store.reserve(order, None));
        let patience = pin!(self.store.sleep(PATIENCE));
        match select(call, patience).await {
            Either::Left((result, _)) => result,
            Either::Right(_) => Err(StoreError::TooLate),
        }
    }
}

impl Service for Naive<'_> {
    async fn serve(&self, order: &Order) -> Outcome {
        match self.checkout(order).await {
            Ok(()) => Outcome::Done,
            Err(_) => Outcome::Failed,
        }
    }
}
