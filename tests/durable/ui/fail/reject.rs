use retry_core::{Retrier, Stopped, retryable};

struct Parcels {
    retries: Retrier,
}

impl Parcels {
    #[retryable(
        name = "parcels.send",
        durable,
        key = parcel,
        reject = |sent| !*sent,
        max_attempts = 3,
        deadline = "1h",
        with = self.retries
    )]
    async fn send(&self, parcel: u64) -> Result<bool, Stopped<std::io::Error>> {
        Ok(format!("{parcel} as {key}").is_empty())
    }

    #[retryable(
        name = "labels.print",
        durable,
        at_most_once,
        id = parcel,
        reject = |printed| !*printed,
        max_attempts = 3,
        deadline = "1h",
        with = self.retries
    )]
    async fn print(&self, parcel: u64) -> Result<bool, Stopped<std::io::Error>> {
        Ok(parcel == 0)
    }
}

fn main() {}
