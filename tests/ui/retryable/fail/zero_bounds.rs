use std::time::Duration;

use retry_core::{Policy, Stopped, retryable};

#[retryable(idempotent, max_attempts = 0, deadline = "5s")]
async fn no_attempts() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

#[retryable(idempotent, max_attempts = 3, deadline = "0s")]
async fn no_time() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s", attempt_timeout = "0ms")]
async fn no_time_for_one() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

#[retryable(idempotent, max_attempts = 0, deadline = "0s", attempt_timeout = "0s")]
async fn all_at_once() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

#[retryable(idempotent, policy = policy, max_attempts = 0x0, deadline = deadline)]
async fn beside_expressions(
    policy: &Policy,
    deadline: Duration,
) -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

fn main() {}
