use retry_core::{Retrier, Stopped, retryable};

struct Payments {
    retries: Retrier,
    gateway: &'static str,
}

const GATEWAY: u32 = 7;

impl Payments {
    #[retryable(idempotent, max_attempts = 3, deadline = "5s", with = self.retries, resource = trace_id)]
    async fn from_an_argument(&self, trace_id: &'static str) -> Result<u64, Stopped<std::io::Error>> {
        Ok(1)
    }

    #[retryable(idempotent, max_attempts = 3, deadline = "5s", with = self.retries, resource = self.gateway)]
    async fn from_self(&self) -> Result<u64, Stopped<std::io::Error>> {
        Ok(1)
    }

    const GATEWAY: &str = "gateway";

    #[retryable(idempotent, max_attempts = 3, deadline = "5s", with = self.retries, resource = Self::GATEWAY)]
    async fn of_self(&self) -> Result<u64, Stopped<std::io::Error>> {
        Ok(1)
    }

    #[retryable(idempotent, max_attempts = 3, deadline = "5s", with = self.retries, resource = GATEWAY)]
    async fn not_a_text(&self) -> Result<u64, Stopped<std::io::Error>> {
        Ok(1)
    }

    #[retryable(idempotent, max_attempts = 3, deadline = "5s", with = self.retries, resource = 7)]
    async fn a_number(&self) -> Result<u64, Stopped<std::io::Error>> {
        Ok(1)
    }

    #[retryable(idempotent, max_attempts = 3, deadline = "5s", with = self.retries, resource = "")]
    async fn no_name(&self) -> Result<u64, Stopped<std::io::Error>> {
        Ok(1)
    }
}

fn main() {}
