use retry_core::{IdempotencyKey, Stopped, retryable};

async fn send(_: u64, _: IdempotencyKey) -> Result<(), std::io::Error> {
    Ok(())
}

#[retryable(key = order, max_attempts = 3, deadline = "5s")]
async fn charge(order: u64) -> Result<(), Stopped<std::io::Error>> {
    send(order, key).await
}

fn main() {}
