use std::time::Duration;

use retry_core::{Backoff, Stopped, retryable};

#[retryable(
    idempotent,
    max_attempts = 3,
    deadline = "1m",
    backoff = Backoff::exponential(Duration::from_secs(1)).factor(1, 2)
)]
async fn shrinks() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

#[retryable(
    idempotent,
    max_attempts = 3,
    deadline = "1m",
    backoff = Backoff::fixed(Duration::from_secs(1)).factor(3, 2)
)]
async fn misplaced() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

fn main() {}
