use retry_core::{Retrier, Stopped, retryable};

struct Labels {
    retries: Retrier,
}

impl Labels {
    #[retryable(
        name = "labels.print",
        durable,
        at_most_once,
        id = parcel,
        max_attempts = 3,
        deadline = "1h",
        with = self.retries
    )]
    async fn print(&self, parcel: u64) -> Result<String, Stopped<std::io::Error>> {
        Ok(format!("{parcel} as {id}"))
    }
}

fn main() {}
