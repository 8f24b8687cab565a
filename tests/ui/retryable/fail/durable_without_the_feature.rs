use retry_core::{Retrier, Stopped, retryable};

struct Receipt(String);

struct Post {
    retries: Retrier,
}

impl Post {
    #[retryable(name = "post.send", durable, key = parcel, max_attempts = 3, deadline = "1h", with = self.retries)]
    async fn send(&self, parcel: u64, _: bool) -> Result<Receipt, Stopped<std::io::Error>> {
        Ok(Receipt(key.to_string()))
    }

    #[retryable(
        name = "labels.print",
        durable,
        at_most_once,
        id = parcel,
        fingerprint = parcel,
        on_in_flight = attach,
        attempt,
        max_attempts = 3,
        deadline = "1h",
        with = self.retries
    )]
    async fn print(&self, parcel: u64) -> Result<Receipt, Stopped<std::io::Error>> {
        Ok(Receipt(format!("{parcel}, attempt {}", attempt.number())))
    }
}

fn main() {}
