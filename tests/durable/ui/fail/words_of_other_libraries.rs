use retry_core::{Retrier, Stopped, retryable};

struct Post {
    retries: Retrier,
}

impl Post {
    #[retryable(name = "post.send", workflow, key = 7, max_attempts = 3, deadline = "1h", with = self.retries)]
    async fn workflow(&self) -> Result<String, Stopped<std::io::Error>> {
        Ok(key.to_string())
    }

    #[retryable(name = "post.send", persistent, key = 7, max_attempts = 3, deadline = "1h", with = self.retries)]
    async fn persistent(&self) -> Result<String, Stopped<std::io::Error>> {
        Ok(key.to_string())
    }

    #[retryable(name = "post.send", durable, key = 7, max_attempts = 3, deadline = "1h", store = self.retries)]
    async fn store(&self) -> Result<String, Stopped<std::io::Error>> {
        Ok(key.to_string())
    }

    #[retryable(name = "post.send", durable, workflow_id = 7, max_attempts = 3, deadline = "1h", with = self.retries)]
    async fn workflow_id(&self) -> Result<(), Stopped<std::io::Error>> {
        Ok(())
    }
}

fn main() {}
