use retry_core::{Stopped, retryable};

struct Order {
    id: u64,
}

#[retryable(name = "a", key = paid, max_attempts = 3, deadline = "5s")]
async fn of_bool(paid: bool) -> Result<String, Stopped<std::io::Error>> {
    Ok(key.to_string())
}

#[retryable(name = "a", key = 'x', max_attempts = 3, deadline = "5s")]
async fn of_char() -> Result<String, Stopped<std::io::Error>> {
    Ok(key.to_string())
}

#[retryable(name = "a", key = 1.5, max_attempts = 3, deadline = "5s")]
async fn of_float() -> Result<String, Stopped<std::io::Error>> {
    Ok(key.to_string())
}

#[retryable(name = "a", key = order, max_attempts = 3, deadline = "5s")]
async fn of_struct(order: &Order) -> Result<String, Stopped<std::io::Error>> {
    Ok(format!("{key} {}", order.id))
}

#[retryable(name = "a", key = missing.id, max_attempts = 3, deadline = "5s")]
async fn of_nothing() -> Result<String, Stopped<std::io::Error>> {
    Ok(key.to_string())
}

fn main() {}
