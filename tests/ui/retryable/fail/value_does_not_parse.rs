use retry_core::{Stopped, retryable};

#[retryable(idempotent, max_attempts = 3 4, deadline = "5s")]
async fn two_values() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s", error = 5)]
async fn no_type() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

#[retryable(idempotent, max_attempts = 3 +, deadline = "5s")]
async fn half_an_expression() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s", crate = "retries")]
async fn no_path() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

#[retryable(idempotent max_attempts = 3, deadline = "5s")]
async fn no_comma() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

fn main() {}
