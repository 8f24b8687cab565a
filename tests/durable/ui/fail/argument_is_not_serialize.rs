use retry_core::{Retrier, Stopped, retryable};

struct Parcel {
    id: u64,
}

struct Client;

struct Post {
    retries: Retrier,
}

impl Post {
    #[retryable(name = "post.send", durable, key = parcel.id, max_attempts = 3, deadline = "1h", with = self.retries)]
    async fn send(
        &self,
        client: &Client,
        parcel: &Parcel,
        fast: bool,
    ) -> Result<String, Stopped<std::io::Error>> {
        let Client = client;
        Ok(format!("{key}, fast: {fast}"))
    }

    #[retryable(
        name = "post.send",
        durable,
        key = 7,
        fingerprint = parcel,
        max_attempts = 3,
        deadline = "1h",
        with = self.retries
    )]
    async fn send_as_it_is(&self, parcel: Parcel) -> Result<String, Stopped<std::io::Error>> {
        Ok(format!("{} as {key}", parcel.id))
    }
}

#[retryable(name = "post.send", durable, key = 7, max_attempts = 3, deadline = "1h", with = retries)]
async fn send<P: ToString>(retries: &Retrier, parcel: P) -> Result<String, Stopped<std::io::Error>> {
    Ok(format!("{} as {key}", parcel.to_string()))
}

fn main() {}
