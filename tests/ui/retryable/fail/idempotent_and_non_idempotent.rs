use retry_core::{Stopped, non_idempotent, retryable};

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
#[non_idempotent]
async fn above(path: &str) -> Result<u64, Stopped<std::io::Error>> {
    std::fs::metadata(path).map(|file| file.len())
}

#[non_idempotent]
#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn below(path: &str) -> Result<u64, Stopped<std::io::Error>> {
    std::fs::metadata(path).map(|file| file.len())
}

fn main() {}
