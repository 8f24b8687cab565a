use retry_core::{Stopped, retryable};

#[retryable(idempotent, attempt, max_attempts = 3, deadline = "5s")]
async fn fetch(attempt: u64) -> Result<u64, Stopped<std::io::Error>> {
    Ok(attempt + 1)
}

fn main() {}
