use retry_core::{Stopped, retryable};

struct Cache {
    entries: Vec<String>,
}

impl Cache {
    #[retryable(idempotent, max_attempts = 3, deadline = "5s")]
    async fn load(&mut self) -> Result<&mut String, Stopped<std::io::Error>> {
        self.entries.push(String::new());
        Ok(&mut self.entries[0])
    }
}

fn main() {}
