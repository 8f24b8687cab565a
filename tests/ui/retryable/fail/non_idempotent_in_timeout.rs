use retry_core::{Stopped, non_idempotent, retryable};

#[non_idempotent]
async fn charge(amount: u64) -> Result<u64, std::io::Error> {
    Ok(amount)
}

use std::time::Duration;

use tokio::time::{Instant, timeout, timeout_at};

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn within() -> Result<u64, Stopped<std::io::Error>> {
    timeout(Duration::from_secs(1), charge(1)).await.map_err(std::io::Error::other)?
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn until() -> Result<u64, Stopped<std::io::Error>> {
    let at = Instant::now() + Duration::from_secs(1);
    timeout_at(at, charge(1)).await.map_err(std::io::Error::other)?
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn by_path() -> Result<u64, Stopped<std::io::Error>> {
    tokio::time::timeout(Duration::from_secs(1), charge(1)).await.map_err(std::io::Error::other)?
}

fn main() {}
