use retry_core::{Stopped, retryable};

#[retryable(name = "payments.charge", _key = order, max_attempts = 3, deadline = "5s")]
async fn charge(order: u64) -> Result<u64, Stopped<std::io::Error>> {
    Ok(order)
}

fn main() {}
