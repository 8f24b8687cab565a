use retry_core::{Stopped, non_idempotent, retryable};

#[non_idempotent]
async fn charge(amount: u64) -> Result<u64, std::io::Error> {
    Ok(amount)
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn directly(amount: u64) -> Result<u64, Stopped<std::io::Error>> {
    let receipt = charge(amount).await?;
    Ok(receipt)
}

#[retryable(name = "a", key = amount, max_attempts = 3, deadline = "5s")]
async fn keyed_elsewhere(amount: u64) -> Result<u64, Stopped<std::io::Error>> {
    println!("{key}");
    charge(amount).await
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn through_a_let(amount: u64) -> Result<u64, Stopped<std::io::Error>> {
    let call = charge(amount);
    call.await
}

fn main() {}
