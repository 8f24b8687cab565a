use retry_core::{Stopped, retryable};

#[retryable(at_most_once, reject = |ready: &bool| !ready, max_attempts = 3, deadline = "5s")]
async fn print() -> Result<bool, Stopped<std::io::Error>> {
    Ok(true)
}

fn main() {}
