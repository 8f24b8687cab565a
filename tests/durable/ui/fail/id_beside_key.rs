use retry_core::{Retrier, Stopped, retryable};

struct Parcels {
    retries: Retrier,
}

impl Parcels {
    #[retryable(
        name = "parcels.send",
        durable,
        key = parcel,
        id = parcel,
        max_attempts = 3,
        deadline = "1h",
        with = self.retries
    )]
    async fn send(&self, parcel: u64) -> Result<String, Stopped<std::io::Error>> {
        Ok(format!("{parcel} as {key}"))
    }
}

#[retryable(name = "parcels.send", key = parcel, id = parcel, max_attempts = 3, deadline = "1h")]
async fn send(parcel: u64) -> Result<String, Stopped<std::io::Error>> {
    Ok(format!("{parcel} as {key}"))
}

fn main() {}
