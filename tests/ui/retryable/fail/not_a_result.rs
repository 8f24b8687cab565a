use retry_core::retryable;

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn number() -> u64 {
    7
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn optional(known: Option<u64>) -> Option<u64> {
    Some(known? + 1)
}

#[retryable(idempotent, error = std::io::Error, max_attempts = 3, deadline = "5s")]
async fn with_error() -> u64 {
    7
}

async fn caller() -> u64 {
    number().await
}

fn main() {}
