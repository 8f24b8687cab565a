use retry_core::{Stopped, retryable};

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn parse(text: &str) -> Result<u64, Stopped<std::num::ParseIntError>> {
    text.parse()
}

#[retryable(idempotent, error = String, max_attempts = 3, deadline = "5s")]
async fn named(text: &str) -> Result<u64, Stopped<String>> {
    Err(text.to_owned())
}

fn main() {}
