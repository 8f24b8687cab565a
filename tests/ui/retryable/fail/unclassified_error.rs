use retry_core::{Stopped, retryable};

#[derive(Debug)]
struct Busy;

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn fetch() -> Result<u64, Stopped<Busy>> {
    Err(Busy)
}

async fn caller() -> Result<u64, Stopped<Busy>> {
    fetch().await
}

fn main() {}
