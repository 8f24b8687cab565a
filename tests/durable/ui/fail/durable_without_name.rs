use retry_core::{Retrier, Stopped, retryable};

struct Labels {
    retries: Retrier,
}

impl Labels {
    #[retryable(durable, at_most_once, id = parcel, max_attempts = 3, deadline = "1h", with = self.retries)]
    async fn print(&self, parcel: u64) -> Result<u64, Stopped<std::io::Error>> {
        Ok(parcel)
    }

    #[retryable(durable, key = parcel, max_attempts = 3, deadline = "1h", with = self.retries)]
    async fn send(&self, parcel: u64) -> Result<String, Stopped<std::io::Error>> {
        Ok(format!("{parcel} as {key}"))
    }
}

fn main() {}
