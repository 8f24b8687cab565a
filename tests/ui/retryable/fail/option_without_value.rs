use retry_core::{Stopped, retryable};

#[retryable(idempotent, max_attempts, deadline = "5s")]
async fn no_value() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

#[retryable(idempotent, max_attempts = 3, deadline("5s"))]
async fn in_parentheses() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

#[retryable(idempotent, max_attempts = , deadline = )]
async fn nothing_behind() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

#[rustfmt::skip]
#[retryable(
    name, key, max_attempts = 3, deadline = "5s", attempt_timeout, hint_limit, backoff, policy,
    with, classify, error, reject, before_retry, crate
)]
async fn all_others() -> Result<String, Stopped<std::io::Error>> {
    Ok(key.to_string())
}

fn main() {}
