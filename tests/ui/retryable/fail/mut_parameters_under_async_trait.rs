use retry_core::{Stopped, retryable};

#[async_trait::async_trait]
trait Counter {
    async fn count(self, by: u64, pair: (u64, u64)) -> Result<u64, Stopped<std::io::Error>>;
}

struct Local(u64);

#[async_trait::async_trait]
impl Counter for Local {
    #[retryable(idempotent, max_attempts = 3, deadline = "5s")]
    async fn count(
        mut self,
        mut by: u64,
        (mut a, b): (u64, u64),
    ) -> Result<u64, Stopped<std::io::Error>> {
        self.0 += by;
        by += 1;
        a += b;
        Ok(self.0 + by + a)
    }
}

fn main() {}
