use retry_core::{Retrier, Stopped, retryable};

struct Post {
    retries: Retrier,
}

impl Post {
    #[retryable(name = "post.send", durable, key = parcel, max_attempts = 3, deadline = "1h", with = self.retries)]
    async fn send(&self, parcel: u64, to: String) -> Result<String, Stopped<std::io::Error>> {
        send(parcel, to, key).await
    }
}

async fn send(parcel: u64, to: String, key: retry_core::IdempotencyKey) -> Result<String, std::io::Error> {
    Ok(format!("{parcel} to {to} as {key}"))
}

fn main() {}
