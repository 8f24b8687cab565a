use retry_core::{Stopped, non_idempotent, retryable};

#[non_idempotent]
async fn charge(amount: u64) -> Result<u64, std::io::Error> {
    Ok(amount)
}

async fn other() -> Result<u64, std::io::Error> {
    Ok(0)
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn join() -> Result<u64, Stopped<std::io::Error>> {
    let (a, b) = tokio::join!(other(), charge(1));
    Ok(a? + b?)
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn try_join() -> Result<u64, Stopped<std::io::Error>> {
    let (a, b) = tokio::try_join!(charge(1), other())?;
    Ok(a + b)
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn select() -> Result<u64, Stopped<std::io::Error>> {
    tokio::select! {
        receipt = charge(1) => receipt,
        receipt = other(), if true => receipt,
    }
}

fn main() {}
