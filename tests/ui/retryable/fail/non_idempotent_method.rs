use retry_core::{Stopped, non_idempotent, retryable};

trait Bank {
    #[non_idempotent]
    async fn charge(&self, amount: u64) -> Result<u64, std::io::Error>;
}

#[async_trait::async_trait]
trait Store: Sync {
    #[non_idempotent]
    async fn append(&self, line: &str) -> Result<u64, std::io::Error>;
}

struct Local;

impl Local {
    #[non_idempotent]
    async fn print(&self) -> Result<u64, std::io::Error> {
        Ok(1)
    }

    #[retryable(idempotent, max_attempts = 3, deadline = "5s")]
    async fn of_a_type(&self) -> Result<u64, Stopped<std::io::Error>> {
        self.print().await
    }
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn of_a_generic<B: Bank>(bank: &B) -> Result<u64, Stopped<std::io::Error>> {
    bank.charge(1).await
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn of_an_object(store: &dyn Store) -> Result<u64, Stopped<std::io::Error>> {
    store.append("line").await
}

fn main() {}
