use retry_core::{Stopped, retryable};

#[retryable(max_attempts = 3, deadline = "5s")]
async fn charge(amount: u64) -> Result<u64, Stopped<std::io::Error>> {
    Ok(amount)
}

async fn caller() -> Result<u64, Stopped<std::io::Error>> {
    charge(1).await
}

fn main() {}
