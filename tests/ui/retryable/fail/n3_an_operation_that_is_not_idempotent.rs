use retry_core::{Stopped, non_idempotent, retryable};

struct Printer;

impl Printer {
    #[non_idempotent]
    #[retryable(at_most_once, max_attempts = 3, deadline = "5s")]
    async fn marked_above(&self) -> Result<(), Stopped<std::io::Error>> {
        Ok(())
    }

    #[retryable(at_most_once, max_attempts = 3, deadline = "5s")]
    #[non_idempotent]
    async fn marked_below(&self) -> Result<(), Stopped<std::io::Error>> {
        Ok(())
    }

    #[retryable(idempotent, max_attempts = 3, deadline = "5s")]
    async fn ship(&self) -> Result<(), Stopped<Stopped<std::io::Error>>> {
        self.marked_above().await?;
        self.marked_below().await
    }
}

fn main() {}
