use retry_core::{Stopped, retryable};

#[retryable(name = "", key = 7, max_attempts = 3, deadline = "5s")]
async fn name() -> Result<String, Stopped<std::io::Error>> {
    Ok(key.to_string())
}

#[retryable(name = "orders.place", key = "", max_attempts = 3, deadline = "5s")]
async fn key() -> Result<String, Stopped<std::io::Error>> {
    Ok(key.to_string())
}

fn main() {}
