use std::time::Duration;

use retry_core::{Backoff, Stopped, retryable};

#[retryable(
    idempotent,
    max_attempts = 3,
    deadline = "1m",
    backoff = Backoff::DEFAULT.cap(Duration::from_secs(2)).quantum(Duration::from_secs(3))
)]
async fn fetch() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

fn main() {}
