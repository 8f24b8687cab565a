use retry_core::{Classify, retryable};

#[derive(Debug, Classify)]
#[retry(transient)]
struct Busy;

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn fetch() -> Result<u64, Busy> {
    Err(Busy)
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn read(text: &str) -> std::io::Result<String> {
    let n: u64 = text.parse().map_err(std::io::Error::other)?;
    if n > 3 {
        return Ok(n.to_string());
    }
    std::fs::read_to_string(text)
}

async fn caller() -> Result<u64, Busy> {
    fetch().await
}

fn main() {}
