use std::pin::Pin;

use retry_core::{Stopped, retryable};

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
fn plain(amount: u64) -> Result<u64, Stopped<std::io::Error>> {
    Ok(amount)
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
fn returns_a_future(amount: u64) -> impl Future<Output = Result<u64, Stopped<std::io::Error>>> {
    async move { Ok(amount) }
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
fn boxed(amount: u64) -> Pin<Box<dyn Future<Output = Result<u64, Stopped<std::io::Error>>>>> {
    Box::pin(async move { Ok(amount) })
}

async fn caller() -> Result<u64, Stopped<std::io::Error>> {
    Ok(plain(1)? + returns_a_future(2).await? + boxed(3).await?)
}

fn main() {}
