use retry_core::{Stopped, retryable};

#[retryable(idempotent, max_attempts = 3, deadline = "5s", max_attempts = 4, idempotent)]
async fn fetch() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

fn main() {}
