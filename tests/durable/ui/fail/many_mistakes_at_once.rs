use retry_core::{Stopped, retryable};

#[retryable(
    durable,
    idempotent,
    reject = |_| true,
    on_in_flight = attach,
    max_attempts = 3,
    deadline = "1h"
)]
async fn send(parcel: u64, _: bool) -> Result<u64, Stopped<std::io::Error>> {
    Ok(parcel.into())
}

async fn caller() -> Result<u64, Stopped<std::io::Error>> {
    let sent: u64 = send(1, true).await?;
    Ok(sent)
}

fn main() {}
