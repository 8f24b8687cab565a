use retry_core::{Stopped, retryable};

#[retryable(idempotent = true, max_attempts = 3, deadline = "5s")]
async fn idempotent() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

#[retryable(at_most_once(true), max_attempts = 3, deadline = "5s")]
async fn at_most_once() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

#[retryable(idempotent, attempt = 3, max_attempts = 3, deadline = "5s")]
async fn attempt() -> Result<u32, Stopped<std::io::Error>> {
    Ok(attempt.number())
}

fn main() {}
