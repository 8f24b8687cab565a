use std::time::Duration;

use retry_core::{Backoff, Stopped, retryable};

#[retryable(
    idempotent,
    max_attempts = 3,
    deadline = "1m",
    backoff = Backoff::exponential(Duration::from_secs(5)).cap(Duration::from_secs(1))
)]
async fn fetch() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

fn main() {}
