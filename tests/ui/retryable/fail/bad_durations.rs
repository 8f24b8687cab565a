use retry_core::{Stopped, retryable};

#[retryable(idempotent, max_attempts = 3, deadline = 30, attempt_timeout = "5")]
async fn no_unit() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

#[retryable(idempotent, max_attempts = 3, deadline = "30 parsecs", hint_limit = 10s)]
async fn unit() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

#[retryable(idempotent, max_attempts = 3, deadline = "soon", hint_limit = "1.5s")]
async fn number() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

#[retryable(idempotent, max_attempts = 3, deadline = -5, hint_limit = "-5s")]
async fn negative() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

#[retryable(idempotent, max_attempts = 3, deadline = "300000000h")]
async fn too_long() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

fn main() {}
