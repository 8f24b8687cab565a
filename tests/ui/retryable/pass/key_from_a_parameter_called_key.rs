//! `key = key` derives the key from the parameter and hides it on purpose.
#![deny(unused_variables)]
use retry_core::{IdempotencyKey, Stopped, retryable};

async fn send(_: IdempotencyKey) -> Result<(), std::io::Error> {
    Ok(())
}

#[retryable(name = "orders.place", key = key, max_attempts = 3, deadline = "5s")]
async fn handed_down(key: IdempotencyKey) -> Result<(), Stopped<std::io::Error>> {
    send(key).await
}

#[retryable(name = "orders.place", key = key.trim(), max_attempts = 3, deadline = "5s")]
async fn text(key: &str) -> Result<(), Stopped<std::io::Error>> {
    send(key).await
}

fn main() {}
