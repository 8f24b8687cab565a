use retry_core::{Stopped, retryable};

#[tracing::instrument]
#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn fetch(id: u64) -> Result<u64, Stopped<std::io::Error>> {
    Ok(id)
}

async fn caller() -> Result<u64, Stopped<std::io::Error>> {
    fetch(1).await
}

fn main() {}
