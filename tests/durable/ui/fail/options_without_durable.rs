use retry_core::{Retrier, Stopped, retryable};

struct Parcels {
    retries: Retrier,
}

impl Parcels {
    #[retryable(name = "labels.print", at_most_once, id = parcel, max_attempts = 3, deadline = "1h")]
    async fn print(&self, parcel: u64) -> Result<u64, Stopped<std::io::Error>> {
        Ok(parcel)
    }

    #[retryable(
        name = "parcels.send",
        key = parcel,
        fingerprint = parcel,
        on_in_flight = attach,
        max_attempts = 3,
        deadline = "1h",
        with = self.retries
    )]
    async fn send(&self, parcel: u64) -> Result<String, Stopped<std::io::Error>> {
        Ok(format!("{parcel} as {key}"))
    }
}

fn main() {}
