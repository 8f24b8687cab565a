use retry_core::{Classify, Stopped, retryable};

#[derive(Debug, Classify)]
#[retry(transient)]
struct Busy;

#[derive(Debug, Classify)]
#[retry(transient)]
struct Full;

#[retryable(idempotent, error = Busy, max_attempts = 3, deadline = "5s")]
async fn fetch() -> Result<u64, Stopped<Full>> {
    Err(Busy)
}

fn main() {}
