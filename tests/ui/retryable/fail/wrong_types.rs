use retry_core::{Stopped, retryable};

struct Service;

#[retryable(idempotent, max_attempts = "3", deadline = 1.5, backoff = 3, with = 5)]
async fn literals() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

#[retryable(idempotent, max_attempts = -1, deadline = true, attempt_timeout = 'x')]
async fn more_literals() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

#[retryable(idempotent, max_attempts = text, deadline = text, backoff = text, with = text)]
async fn arguments(text: &str) -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

#[retryable(idempotent, policy = 5)]
async fn policy() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

#[retryable(idempotent, name = 5, max_attempts = 3, deadline = "5s")]
async fn name() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

#[retryable(idempotent, max_attempts = 4294967296, deadline = "5s")]
async fn too_many() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s", reject = 5)]
async fn reject() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s", reject = |value: &u64| value + 1)]
async fn reject_gives_no_answer() -> Result<u64, Stopped<std::io::Error>> {
    Ok(1)
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s", before_retry = 5)]
async fn before_retry() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s", before_retry = async { 5 })]
async fn before_retry_gives_something() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

fn main() {}
