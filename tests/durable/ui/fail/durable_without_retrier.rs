use retry_core::{Stopped, retryable};

#[retryable(name = "parcels.send", durable, key = parcel, max_attempts = 3, deadline = "1h")]
async fn send(parcel: u64) -> Result<String, Stopped<std::io::Error>> {
    Ok(format!("{parcel} as {key}"))
}

#[retryable(name = "parcels.send", durable, key = parcel, resource = "post", max_attempts = 3, deadline = "1h")]
async fn send_by_post(parcel: u64) -> Result<String, Stopped<std::io::Error>> {
    Ok(format!("{parcel} as {key}"))
}

fn main() {}
