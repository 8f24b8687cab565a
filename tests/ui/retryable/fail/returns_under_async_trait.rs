use retry_core::{Stopped, retryable};

#[derive(Debug)]
struct Busy;

#[async_trait::async_trait]
trait Store {
    async fn bare(&self) -> Result<u64, Busy>;
    async fn unclassified(&self) -> Result<u64, Stopped<Busy>>;
    async fn number(&self) -> u64;
    async fn nothing(&self);
}

struct Memory;

#[async_trait::async_trait]
impl Store for Memory {
    #[retryable(idempotent, max_attempts = 3, deadline = "5s")]
    async fn bare(&self) -> Result<u64, Busy> {
        Err(Busy)
    }

    #[retryable(idempotent, max_attempts = 3, deadline = "5s")]
    async fn unclassified(&self) -> Result<u64, Stopped<Busy>> {
        Err(Busy)
    }

    #[retryable(idempotent, max_attempts = 3, deadline = "5s")]
    async fn number(&self) -> u64 {
        7
    }

    #[retryable(idempotent, max_attempts = 3, deadline = "5s")]
    async fn nothing(&self) {}
}

fn main() {}
