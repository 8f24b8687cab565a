//! The mistakes that the compiler finds once all types fit.
#![deny(unused_variables)]
use std::time::Duration;

use retry_core::{Backoff, Stopped, retryable};

type Answer = Result<(), Stopped<std::io::Error>>;

#[retryable(name = "charge", key = order, max_attempts = 3, deadline = "5s")]
async fn key_not_passed_on(order: u64) -> Answer {
    Ok(())
}

async fn send(_body: Vec<u8>) -> Result<(), std::io::Error> {
    Ok(())
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn consumed(body: Vec<u8>) -> Answer {
    send(body).await
}

#[retryable(
    idempotent,
    max_attempts = 5,
    deadline = "30s",
    backoff = Backoff::fixed(Duration::from_secs(20))
)]
async fn does_not_fit() -> Answer {
    Ok(())
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s", attempt_timeout = "5s")]
async fn no_shorter() -> Answer {
    Ok(())
}

fn main() {}
