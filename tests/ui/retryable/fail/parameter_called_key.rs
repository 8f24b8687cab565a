use retry_core::{Stopped, retryable};

#[retryable(name = "cache.put", key = order, max_attempts = 3, deadline = "5s")]
async fn put(order: u64, key: &str) -> Result<String, Stopped<std::io::Error>> {
    Ok(format!("{order} {key}"))
}

#[retryable(name = "cache.put", key = "all", max_attempts = 3, deadline = "5s")]
async fn put_pair((key, value): (String, u64)) -> Result<String, Stopped<std::io::Error>> {
    Ok(format!("{key} {value}"))
}

fn main() {}
