//! P27: `retry_core` under another name.
#![allow(missing_docs)]

use std::time::Duration;

use futures::executor::block_on;
use retries::clock::{Clock, VirtualClock};
use retries::store::MemoryStore;
use retries::{Backoff, Classify, Failure, Retrier, Stopped, non_idempotent, retryable};

#[derive(Debug, Classify)]
#[retry(crate = retries)]
pub enum Fault {
    #[retry(transient, no_effect, after = wait, code = code)]
    Busy { wait: Option<Duration>, code: u16 },
    #[retry(delegate)]
    Inner(Stopped<std::io::Error>),
}

const BUSY: Fault = Fault::Busy { wait: None, code: 503 };

#[derive(Debug)]
pub struct Status(u32);

impl From<Stopped<Fault>> for Status {
    fn from(stopped: Stopped<Fault>) -> Self {
        Self(stopped.attempts())
    }
}

#[derive(Default)]
struct Service {
    retries: Retrier,
    calls: u32,
}

impl Service {
    fn call(&mut self, succeeds: u32) -> Result<u32, Fault> {
        self.calls += 1;
        if self.calls < succeeds { Err(BUSY) } else { Ok(self.calls) }
    }

    async fn refresh(&mut self) {
        self.calls += 10;
    }

    #[retryable(crate = retries, idempotent, attempt, max_attempts = 3, deadline = "5s", with = self.retries)]
    async fn literals(&mut self) -> Result<u32, Stopped<Fault>> {
        self.call(attempt.number() + 1)
    }

    #[retryable(crate = retries, name = "a", key = self.calls, max_attempts = n, deadline = "5s", backoff = Backoff::DEFAULT)]
    async fn keyed(&mut self, n: u32) -> Result<String, Stopped<Fault>> {
        self.call(n).map(|_| key.to_string())
    }

    #[retryable(crate = retries, idempotent, before_retry = self.refresh(), reject = |n| *n < 12, max_attempts = 3, deadline = "5s")]
    async fn refreshed(&mut self) -> Result<u32, Stopped<Fault>> {
        self.call(1)
    }

    #[retryable(crate = retries, idempotent, error = Fault, classify = |_: &Fault| Failure::transient(), max_attempts = 3, deadline = "5s")]
    async fn converted(&mut self) -> Result<u32, Status> {
        self.call(9)
    }

    #[retryable(crate = retries, name = "durable", durable, key = id, on_in_flight = attach, attempt, max_attempts = 3, deadline = "5s", with = self.retries)]
    async fn durable(&mut self, id: u32) -> Result<(u32, String), Stopped<Fault>> {
        self.call(attempt.number() + u32::from(!attempt.is_last()))
            .map(|calls| (calls + id, key.to_string()))
    }

    #[non_idempotent(crate = retries)]
    #[retryable(crate = retries, at_most_once, max_attempts = 3, deadline = "5s")]
    async fn once(&mut self) -> Result<u32, Stopped<Fault>> {
        marked().await;
        self.call(1)
    }
}

#[non_idempotent(crate = retries)]
async fn marked() {}

#[non_idempotent(crate = retries)]
fn returned() -> std::future::Ready<()> {
    std::future::ready(())
}

#[async_trait::async_trait]
trait Store {
    async fn put(&mut self, id: u32) -> Result<u32, Stopped<Fault>>;
}

#[async_trait::async_trait]
impl Store for Service {
    #[retryable(crate = retries, name = "put", key = id, max_attempts = 3, deadline = "5s")]
    async fn put(&mut self, id: u32) -> Result<u32, Stopped<Fault>> {
        self.call(id).map(|calls| calls + key.to_string().len() as u32)
    }
}

#[test]
fn a_durable_operation_is_found_again() {
    let retries = Retrier::builder().store(MemoryStore::new()).build();
    let mut service = Service { retries, calls: 0 };
    let kept = run(service.durable(10)).unwrap();
    assert_eq!((kept.0, kept.1.len()), (13, 36));
    assert_eq!(run(service.durable(10)).unwrap(), kept);
    assert_eq!(service.calls, 3);
}

fn run<F: Future>(future: F) -> F::Output {
    block_on(VirtualClock::new().scope(future))
}

#[test]
fn every_macro_takes_the_other_name() {
    assert_eq!(run(Service::default().literals()).unwrap_err().attempts(), 3);
    assert_eq!(run(Service::default().keyed(3)).unwrap().len(), 36);
    assert_eq!(run(Service::default().refreshed()).unwrap(), 12);
    assert_eq!(run(Service::default().converted()).map_err(|Status(attempts)| attempts), Err(3));
    assert_eq!(run(async { Service::default().once().await }).unwrap(), 1);
    run(async { returned().await });
    assert_eq!(run(Service::default().put(3)).unwrap(), 39);
    assert_eq!(BUSY.classify(), Failure::transient().no_effect().with_code(503));
}
