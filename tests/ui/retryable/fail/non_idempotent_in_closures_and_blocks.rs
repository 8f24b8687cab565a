use retry_core::{Stopped, non_idempotent, retryable};

#[non_idempotent]
async fn charge(amount: u64) -> Result<u64, std::io::Error> {
    Ok(amount)
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn closure() -> Result<u64, Stopped<std::io::Error>> {
    let call = || charge(1);
    call().await
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn async_closure() -> Result<u64, Stopped<std::io::Error>> {
    let call = async || charge(1).await;
    call().await
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn async_block() -> Result<u64, Stopped<std::io::Error>> {
    async { charge(1).await }.await
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn spawned_block() -> Result<u64, Stopped<std::io::Error>> {
    tokio::spawn(async { charge(1).await }).await.map_err(std::io::Error::other)?
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn async_fn() -> Result<u64, Stopped<std::io::Error>> {
    async fn inner() -> Result<u64, std::io::Error> {
        charge(1).await
    }
    inner().await
}

fn main() {}
