//! Names that an option would have bound.
use retry_core::{Stopped, retryable};

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn no_attempt() -> Result<u32, Stopped<std::io::Error>> {
    Ok(attempt.number())
}

fn main() {}
