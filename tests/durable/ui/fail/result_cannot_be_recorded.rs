use retry_core::{Retrier, Stopped, retryable};

struct Receipt(String);

struct Failed;

impl From<Stopped<std::io::Error>> for Failed {
    fn from(_: Stopped<std::io::Error>) -> Self {
        Self
    }
}

type Sent = Result<Receipt, Stopped<std::io::Error>>;

struct Post {
    retries: Retrier,
}

impl Post {
    #[retryable(name = "post.send", durable, key = parcel, max_attempts = 3, deadline = "1h", with = self.retries)]
    async fn send(&self, parcel: u64) -> Result<Receipt, Stopped<std::io::Error>> {
        Ok(Receipt(key.to_string()))
    }

    #[retryable(name = "post.send", durable, key = parcel, max_attempts = 3, deadline = "1h", with = self.retries)]
    async fn send_by_alias(&self, parcel: u64) -> Sent {
        Ok(Receipt(key.to_string()))
    }

    #[retryable(
        name = "post.send",
        durable,
        attempt,
        key = parcel,
        error = std::io::Error,
        classify = |_| retry_core::Class::Unknown,
        max_attempts = 3,
        deadline = "1h",
        with = self.retries
    )]
    async fn send_or_fail(&self, parcel: u64) -> Result<(u64, Receipt), Failed> {
        Ok((parcel, Receipt(format!("{key}, attempt {}", attempt.number()))))
    }
}

#[async_trait::async_trait]
trait Send {
    async fn send(&self, parcel: u64) -> Result<Receipt, Stopped<std::io::Error>>;
}

#[async_trait::async_trait]
impl Send for Post {
    #[retryable(name = "post.send", durable, key = parcel, max_attempts = 3, deadline = "1h", with = self.retries)]
    async fn send(&self, parcel: u64) -> Result<Receipt, Stopped<std::io::Error>> {
        Ok(Receipt(key.to_string()))
    }
}

fn main() {}
