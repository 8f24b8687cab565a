use std::time::Duration;

use retry_core::{Backoff, Policy, Stopped, retryable};

struct Config {
    attempts: u32,
    deadline: Duration,
    policy: Policy,
}

#[retryable(
    idempotent,
    max_attempts = config.attempts,
    deadline = "30s",
    backoff = Backoff::exponential(Duration::from_secs(5)).cap(Duration::from_secs(1))
)]
async fn cap(config: &Config) -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

#[retryable(
    idempotent,
    max_attempts = 3,
    deadline = config.deadline,
    backoff = Backoff::linear(Duration::from_secs(5)).quantum(Duration::from_secs(30))
)]
async fn quantum(config: &Config) -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

#[retryable(idempotent, policy = config.policy, deadline = "5s", attempt_timeout = "6s")]
async fn timeout(config: &Config) -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

fn main() {}
