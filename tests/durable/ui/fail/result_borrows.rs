use std::borrow::Cow;

use retry_core::{Retrier, Stopped, retryable};

struct Post {
    retries: Retrier,
}

impl Post {
    #[retryable(name = "post.name", durable, key = text, max_attempts = 3, deadline = "1h", with = self.retries)]
    async fn name<'t>(&self, text: &'t str) -> Result<Vec<&'t str>, Stopped<std::io::Error>> {
        Ok(vec![text; key.to_string().len()])
    }

    #[retryable(name = "post.name", durable, key = text, max_attempts = 3, deadline = "1h", with = self.retries)]
    async fn cow<'t>(&self, text: &'t str) -> Result<Cow<'t, str>, Stopped<std::io::Error>> {
        let _ = key;
        Ok(text.into())
    }
}

fn main() {}
