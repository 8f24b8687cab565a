use retry_core::{Stopped, non_idempotent, retryable};

struct Session;

impl Session {
    #[non_idempotent]
    async fn open(&self) {}

    #[retryable(idempotent, before_retry = self.open(), max_attempts = 3, deadline = "5s")]
    async fn directly(&self) -> Result<u64, Stopped<std::io::Error>> {
        Ok(1)
    }

    #[retryable(
        idempotent,
        before_retry = async { self.open().await },
        max_attempts = 3,
        deadline = "5s"
    )]
    async fn in_a_block(&self) -> Result<u64, Stopped<std::io::Error>> {
        Ok(1)
    }
}

fn main() {}
