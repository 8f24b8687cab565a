use retry_core::{Stopped, retryable};

async fn send(_: Vec<u8>) -> Result<(), std::io::Error> {
    Ok(())
}

struct Upload {
    body: Vec<u8>,
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn upload(body: Vec<u8>) -> Result<(), Stopped<std::io::Error>> {
    send(body).await
}

impl Upload {
    #[retryable(idempotent, max_attempts = 3, deadline = "5s")]
    async fn run(self) -> Result<(), Stopped<std::io::Error>> {
        send(self.body).await
    }
}

fn main() {}
