use retry_core::{Retrier, Stopped, retryable};

struct Parcels {
    retries: Retrier,
}

impl Parcels {
    #[retryable(name = "parcels.count", durable, idempotent, max_attempts = 3, deadline = "1h", with = self.retries)]
    async fn count(&self, day: u64) -> Result<u64, Stopped<std::io::Error>> {
        Ok(day)
    }

    #[retryable(
        name = "parcels.count",
        durable,
        idempotent,
        id = day,
        max_attempts = 3,
        deadline = "1h",
        with = self.retries
    )]
    async fn count_with_id(&self, day: u64) -> Result<u64, Stopped<std::io::Error>> {
        Ok(day)
    }

    #[retryable(name = "parcels.count", durable, max_attempts = 3, deadline = "1h", with = self.retries)]
    async fn count_somehow(&self, day: u64) -> Result<u64, Stopped<std::io::Error>> {
        Ok(day)
    }

    #[retryable(
        name = "parcels.count",
        durable,
        idempotent,
        key = day,
        max_attempts = 3,
        deadline = "1h",
        with = self.retries
    )]
    async fn count_with_key(&self, day: u64) -> Result<String, Stopped<std::io::Error>> {
        Ok(format!("{day} as {key}"))
    }
}

fn main() {}
