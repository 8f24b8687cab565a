use retry_core::{Stopped, retryable};

#[retryable(idempotent, max_attempts = 3, deadline = "5s", attempt_timeout = "5s")]
async fn as_long() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

#[retryable(idempotent, max_attempts = 3, deadline = "1s 500ms", attempt_timeout = "1m")]
async fn longer() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

fn main() {}
