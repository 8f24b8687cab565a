use retry_core::retryable;

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn ping() {
    println!("ping");
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn unit() -> () {}

async fn caller() {
    ping().await
}

fn main() {}
