use std::time::Duration;

use retry_core::{Stopped, retryable};

#[retryable(idempotent, max_attempts = 100, deadline = Duration::from_secs(5))]
async fn too_many() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

#[retryable(idempotent, max_attempts = 3, deadline = Duration::from_secs(0))]
async fn no_time() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

fn main() {}
