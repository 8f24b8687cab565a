use retry_core::{Backoff, Stopped, retryable};

#[retryable(idempotent)]
async fn neither() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

#[retryable(idempotent, deadline = "5s")]
async fn no_attempts() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

#[retryable(idempotent, max_attempts = 3)]
async fn no_time() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

#[retryable(idempotent, attempt_timeout = "1s", backoff = Backoff::DEFAULT)]
async fn other_numbers() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

async fn caller() -> Result<(), Stopped<std::io::Error>> {
    neither().await
}

fn main() {}
