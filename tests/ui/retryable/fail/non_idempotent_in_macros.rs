use retry_core::{Stopped, non_idempotent, retryable};

#[non_idempotent]
async fn charge(amount: u64) -> Result<u64, std::io::Error> {
    Ok(amount)
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn in_vec() -> Result<u64, Stopped<std::io::Error>> {
    let receipts = vec![charge(1).await?, 2];
    Ok(receipts[0])
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn in_println() -> Result<u64, Stopped<std::io::Error>> {
    println!("{}", charge(1).await?);
    Ok(0)
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn in_an_arm() -> Result<u64, Stopped<std::io::Error>> {
    tokio::select! {
        () = std::future::ready(()) => charge(1).await,
    }
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn in_a_condition() -> Result<u64, Stopped<std::io::Error>> {
    tokio::select! {
        () = std::future::ready(()), if charge(1).await.is_ok() => Ok(1),
        else => Ok(2),
    }
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn in_a_macro_of_the_body() -> Result<u64, Stopped<std::io::Error>> {
    macro_rules! finish {
        ($call:expr) => {
            $call.await
        };
    }
    finish!(charge(1))
}

fn main() {}
