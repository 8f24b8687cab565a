//! P27: `retry_core` only through a crate of somebody else's.
#![allow(missing_docs)]

use futures::executor::block_on;
use retry_renamed::retry_core::clock::{Clock, VirtualClock};
use retry_renamed::retry_core::store::MemoryStore;
use retry_renamed::retry_core::{Classify, Retrier, Stopped, non_idempotent, retryable};

#[derive(Debug, Classify)]
#[retry(transient, crate = retry_renamed::retry_core)]
pub struct Busy;

#[non_idempotent(crate = retry_renamed::retry_core)]
async fn print(pages: u32) -> u32 {
    pages
}

#[retryable(crate = retry_renamed::retry_core, at_most_once, attempt, max_attempts = 2, deadline = "5s")]
async fn print_twice(pages: u32) -> Result<u32, Stopped<Busy>> {
    Ok(print(pages).await + attempt.number())
}

#[retryable(crate = ::retry_renamed::retry_core, name = "fail", key = "one", max_attempts = 2, deadline = "5s")]
async fn fail() -> Result<u32, Stopped<Busy>> {
    let _ = key;
    Err(Busy)
}

#[retryable(crate = retry_renamed::retry_core, name = "keep", durable, at_most_once, id = pages, max_attempts = 2, deadline = "5s", with = Retrier::builder().store(MemoryStore::new()).build())]
async fn keep(pages: u32) -> Result<u32, Stopped<Busy>> {
    Ok(print(pages).await)
}

#[test]
fn every_macro_takes_the_longer_path() {
    let clock = VirtualClock::new();
    assert_eq!(block_on(clock.clone().scope(print_twice(2))).unwrap(), 3);
    assert_eq!(block_on(clock.clone().scope(keep(2))).unwrap(), 2);
    assert_eq!(block_on(clock.scope(fail())).unwrap_err().attempts(), 2);
}
