use retry_core::{Stopped, retryable};

#[retryable(idempotent, max_attempts = 3, deadline = "5s", resource = "gateway")]
async fn resource() -> Result<u64, Stopped<std::io::Error>> {
    Ok(1)
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s", on_refusal = defer)]
async fn on_refusal() -> Result<u64, Stopped<std::io::Error>> {
    Ok(1)
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s", caller = tenant)]
async fn caller(tenant: &str) -> Result<u64, Stopped<std::io::Error>> {
    Ok(tenant.len() as u64)
}

fn main() {}
