use retry_core::{Stopped, non_idempotent, retryable};

#[non_idempotent]
async fn charge(amount: u64) -> Result<u64, std::io::Error> {
    Ok(amount)
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn awaited() -> Result<u64, Stopped<std::io::Error>> {
    charge(1).into_future().await
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn pinned() -> Result<u64, Stopped<std::io::Error>> {
    let call = std::pin::pin!(charge(1).into_future());
    call.await
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn spawned() -> Result<u64, Stopped<std::io::Error>> {
    tokio::spawn(charge(1).into_future()).await.map_err(std::io::Error::other)?
}

fn main() {}
