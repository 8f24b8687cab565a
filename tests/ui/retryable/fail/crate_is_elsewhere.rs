use retry_core::Stopped;

#[retry_core::retryable(crate = ::retries, idempotent, max_attempts = 3, deadline = "5s")]
async fn fetch() -> Result<u64, Stopped<std::io::Error>> {
    Ok(1)
}

fn main() {}
