use retry_core::{Stopped, retryable};

#[retryable(idempotent, max_retries = 3, deadline = "5s")]
async fn retries() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

#[retryable(idempotent, attempts = 3, deadline = "5s")]
async fn attempts() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

#[retryable(idempotent, max_attempts = 3, timeout = "5s")]
async fn timeout() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s", jitter = true, when = is_busy)]
async fn strategy() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

fn main() {}
