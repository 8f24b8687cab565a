use retry_core::{Retrier, Stopped, retryable};

struct Post {
    retries: Retrier,
}

impl Post {
    #[retryable(name = "post.send", durable, key = parcel, max_attempts = 3, deadline = "1h", with = self.retries)]
    async fn send(
        &self,
        parcel: u64,
        (from, to): (String, String),
        _: bool,
    ) -> Result<String, Stopped<std::io::Error>> {
        Ok(format!("{parcel} from {from} to {to} as {key}"))
    }
}

#[async_trait::async_trait]
trait Send {
    async fn send(
        &self,
        parcel: u64,
        way: (String, String),
        fast: bool,
    ) -> Result<String, Stopped<std::io::Error>>;
}

#[async_trait::async_trait]
impl Send for Post {
    #[retryable(name = "post.send", durable, key = parcel, max_attempts = 3, deadline = "1h", with = self.retries)]
    async fn send(
        &self,
        parcel: u64,
        (from, to): (String, String),
        _: bool,
    ) -> Result<String, Stopped<std::io::Error>> {
        Ok(format!("{parcel} from {from} to {to} as {key}"))
    }
}

fn main() {}
