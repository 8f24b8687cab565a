use retry_core::{Retrier, Stopped, retryable};

#[derive(Debug)]
struct Busy;

struct Post {
    retries: Retrier,
}

impl Post {
    #[retryable(name = "post.send", durable, key = parcel, max_attempts = 3, deadline = "1h", with = self.retries)]
    async fn send(&self, parcel: u64) -> Result<String, Stopped<Busy>> {
        Ok(format!("{parcel} as {key}"))
    }
}

fn main() {}
