use retry_core::{Stopped, retryable};

fn charge(amount: u64) -> Result<u64, std::io::Error> {
    Ok(amount)
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn fetch(amount: u64) -> Result<u64, Stopped<std::io::Error>> {
    let receipt = charge(amount).await?;
    Ok(receipt)
}

fn main() {}
