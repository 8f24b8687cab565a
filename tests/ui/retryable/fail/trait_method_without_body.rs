use retry_core::{Stopped, retryable};

trait Store {
    #[retryable(idempotent, max_attempts = 3, deadline = "5s")]
    async fn get(&self, id: u64) -> Result<u64, Stopped<std::io::Error>>;
}

struct Memory;

impl Store for Memory {
    async fn get(&self, id: u64) -> Result<u64, Stopped<std::io::Error>> {
        Ok(id)
    }
}

fn main() {}
