use retry_core::{Retrier, Stopped, retryable};

struct Post {
    retries: Retrier,
}

impl Post {
    #[retryable(name = "post.send", durable = true, key = 7, max_attempts = 3, deadline = "1h", with = self.retries)]
    async fn durable(&self) -> Result<String, Stopped<std::io::Error>> {
        Ok(key.to_string())
    }

    #[retryable(name = "post.send", durable, at_most_once, id, max_attempts = 3, deadline = "1h", with = self.retries)]
    async fn id(&self) -> Result<(), Stopped<std::io::Error>> {
        Ok(())
    }

    #[retryable(name = "post.send", durable, at_most_once, id = "", max_attempts = 3, deadline = "1h", with = self.retries)]
    async fn empty_id(&self) -> Result<(), Stopped<std::io::Error>> {
        Ok(())
    }

    #[retryable(name = "post.send", durable, at_most_once, id = fast, max_attempts = 3, deadline = "1h", with = self.retries)]
    async fn id_is_no_key(&self, fast: bool) -> Result<(), Stopped<std::io::Error>> {
        Ok(drop(fast))
    }

    #[retryable(
        name = "post.send",
        durable,
        key = 7,
        on_in_flight = atach,
        fingerprint,
        max_attempts = 3,
        deadline = "1h",
        with = self.retries
    )]
    async fn wait(&self) -> Result<String, Stopped<std::io::Error>> {
        Ok(key.to_string())
    }

    #[retryable(
        name = "post.send",
        durable,
        key = 7,
        on_in_flight = "attach",
        max_attempts = 3,
        deadline = "1h",
        with = self.retries
    )]
    async fn quoted(&self) -> Result<String, Stopped<std::io::Error>> {
        Ok(key.to_string())
    }
}

fn main() {}
