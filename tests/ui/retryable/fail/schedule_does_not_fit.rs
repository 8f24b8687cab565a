use std::time::Duration;

use retry_core::{Backoff, Stopped, retryable};

#[retryable(
    idempotent,
    max_attempts = 5,
    deadline = "30s",
    backoff = Backoff::fixed(Duration::from_secs(20))
)]
async fn some_attempts() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

#[retryable(idempotent, max_attempts = 1000000, deadline = "1m")]
async fn default_backoff() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

#[retryable(
    idempotent,
    max_attempts = 2,
    deadline = "1s",
    backoff = Backoff::fixed(Duration::from_secs(10))
)]
async fn the_only_retry() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

fn main() {}
