use retry_core::{Classify, retryable};

#[derive(Debug, Classify)]
#[retry(transient)]
struct Busy;

struct Status;

#[retryable(idempotent, error = Busy, max_attempts = 3, deadline = "5s")]
async fn fetch() -> Result<u64, Status> {
    Err(Busy)
}

fn main() {}
