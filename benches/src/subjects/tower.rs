//! tower's retry, as a service that is made for each call.

use std::future::{Future, Ready, ready};

use tokio::time::{Sleep, sleep};
use tower::retry::{Policy, Retry};
use tower::{ServiceExt, service_fn};

use crate::subject::{repeat, size_of_future};
use crate::{BASE, CallError, Gateway, MAX_ATTEMPTS, Scenario, Subject};

pub(super) const SUBJECT: Subject = Subject {
    name: "tower",
    deadline: "none",
    run: |scenario, times| match scenario {
        Scenario::Ready | Scenario::WaitsOnce => repeat!(scenario, times, charge),
        Scenario::ThreeFailures => repeat!(scenario, times, charge_without_waits),
    },
    future_size: || size_of_future(send),
};

/// A policy is the author's to write in tower.
#[derive(Clone)]
struct Limited<W> {
    failures: u32,
    wait: W,
}

impl<W> Limited<W> {
    const fn new(wait: W) -> Self {
        Self { failures: 0, wait }
    }
}

impl<Request: Clone, T, W, F> Policy<Request, T, CallError> for Limited<W>
where
    W: Fn(u32) -> F,
    F: Future<Output = ()>,
{
    type Future = F;

    fn retry(&mut self, _: &mut Request, outcome: &mut Result<T, CallError>) -> Option<F> {
        let error = outcome.as_ref().err()?;
        self.failures += 1;
        (error.is_transient() && self.failures < MAX_ATTEMPTS).then(|| (self.wait)(self.failures))
    }

    fn clone_request(&mut self, request: &Request) -> Option<Request> {
        Some(request.clone())
    }
}

fn exponential(failures: u32) -> Sleep {
    sleep(BASE * 2_u32.pow(failures - 1))
}

fn at_once(_: u32) -> Ready<()> {
    ready(())
}

async fn charge(gateway: &Gateway) -> Result<u64, CallError> {
    let service = service_fn(Gateway::attempt);
    Retry::new(Limited::new(exponential), service).oneshot(gateway).await
}

async fn charge_without_waits(gateway: &Gateway) -> Result<u64, CallError> {
    let service = service_fn(Gateway::attempt);
    Retry::new(Limited::new(at_once), service).oneshot(gateway).await
}

async fn send(gateway: &Gateway, order: String) -> Result<u64, CallError> {
    let service = service_fn(async |order: String| gateway.send(&order).await);
    Retry::new(Limited::new(exponential), service).oneshot(order).await
}
