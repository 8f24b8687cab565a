use retry_core::{Stopped, retryable};

#[retryable(idempotent, max_attemps = 3, deadline = "5s")]
async fn near() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s", colour(3, 4), shape = |x, y| x + y)]
async fn far() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

#[retryable(idempotnt, max_attempts = 3, deadline = "5s")]
async fn safety() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

#[retryable(idempotent, max_attempts = 3, "5s")]
async fn no_name() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

fn main() {}
