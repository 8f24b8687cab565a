use retry_core::{Stopped, retryable};

#[retryable(
    idempotent,
    at_most_once,
    key = order,
    max_attempts = 0,
    deadline = "30 parsecs",
    attempt_timeout = 5,
    max_atempts = 4,
    reject = |_: &u64| true,
    attempt = 5
)]
async fn charge(order: u64, mut count: u64) -> Result<u64, Stopped<std::io::Error>> {
    count += order;
    println!("{key} {}", attempt.number());
    Ok(count)
}

async fn caller() -> Result<u64, Stopped<std::io::Error>> {
    charge(1, 2).await
}

fn main() {}
