use retry_core::{Stopped, retryable};

#[retryable(idempotent, at_most_once, max_attempts = 3, deadline = "5s")]
async fn first() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

#[retryable(name = "second", key = 7, idempotent, max_attempts = 3, deadline = "5s")]
async fn second() -> Result<(), Stopped<std::io::Error>> {
    println!("{key}");
    Ok(())
}

#[retryable(at_most_once, name = "third", key = 7, idempotent, max_attempts = 3, deadline = "5s")]
async fn third() -> Result<(), Stopped<std::io::Error>> {
    println!("{key}");
    Ok(())
}

fn main() {}
