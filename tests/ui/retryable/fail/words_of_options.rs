use retry_core::{Retrier, Stopped, retryable};

struct Payments {
    retries: Retrier,
}

impl Payments {
    #[retryable(idempotent, max_attempts = 3, deadline = "5s", with = self.retries, on_refusal = deffer)]
    async fn misspelt(&self) -> Result<u64, Stopped<std::io::Error>> {
        Ok(1)
    }

    #[retryable(idempotent, max_attempts = 3, deadline = "5s", with = self.retries, on_refusal = "defer")]
    async fn quoted(&self) -> Result<u64, Stopped<std::io::Error>> {
        Ok(1)
    }

    #[retryable(idempotent, max_attempts = 3, deadline = "5s", nested = stop)]
    async fn the_default(&self) -> Result<u64, Stopped<std::io::Error>> {
        Ok(1)
    }

    #[retryable(idempotent, max_attempts = 3, deadline = "5s", nested)]
    async fn no_value(&self) -> Result<u64, Stopped<std::io::Error>> {
        Ok(1)
    }

    #[retryable(idempotent, max_attempts = 3, deadline = "5s", with = self.retries, caller = tenant)]
    async fn not_a_text(&self, tenant: u64) -> Result<u64, Stopped<std::io::Error>> {
        Ok(tenant)
    }

    #[retryable(idempotent, max_attempts = 3, deadline = "5s", circuit_breaker = 10)]
    async fn word_of_others(&self) -> Result<u64, Stopped<std::io::Error>> {
        Ok(1)
    }
}

fn main() {}
