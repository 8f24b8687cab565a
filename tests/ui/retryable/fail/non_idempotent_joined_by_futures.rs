use retry_core::{Stopped, non_idempotent, retryable};

#[non_idempotent]
async fn charge(amount: u64) -> Result<u64, std::io::Error> {
    Ok(amount)
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn join() -> Result<u64, Stopped<std::io::Error>> {
    let (a, b) = futures::join!(charge(1), std::future::ready(1));
    Ok(a? + b)
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn try_join() -> Result<u64, Stopped<std::io::Error>> {
    let (a, b) = futures::try_join!(std::future::ready(Ok(1)), charge(1))?;
    Ok(a + b)
}

fn main() {}
