//! What a retried body must not await, an `at_most_once` body may.
use std::time::Duration;

use retry_core::{Stopped, non_idempotent, retryable};
use tokio::time::{Instant, timeout, timeout_at};

#[non_idempotent]
async fn charge(amount: u64) -> Result<u64, std::io::Error> {
    Ok(amount)
}

async fn other() -> Result<u64, std::io::Error> {
    Ok(0)
}

trait Bank {
    #[non_idempotent]
    async fn charge(&self, amount: u64) -> Result<u64, std::io::Error>;
}

#[async_trait::async_trait]
trait Store: Sync {
    #[non_idempotent]
    async fn append(&self, line: &str) -> Result<u64, std::io::Error>;
}

struct Session;

impl Session {
    #[non_idempotent]
    async fn open(&self) {}

    #[retryable(at_most_once, before_retry = self.open(), max_attempts = 3, deadline = "5s")]
    async fn before_retry(&self) -> Result<u64, Stopped<std::io::Error>> {
        Ok(1)
    }
}

#[retryable(at_most_once, max_attempts = 3, deadline = "5s")]
async fn directly() -> Result<u64, Stopped<std::io::Error>> {
    let receipt = charge(1).await?;
    let call = charge(receipt);
    call.await
}

#[retryable(at_most_once, max_attempts = 3, deadline = "5s")]
async fn methods<B: Bank>(bank: &B, store: &dyn Store) -> Result<u64, Stopped<std::io::Error>> {
    Ok(bank.charge(1).await? + store.append("line").await?)
}

#[retryable(at_most_once, max_attempts = 3, deadline = "5s")]
async fn closures_and_blocks() -> Result<u64, Stopped<std::io::Error>> {
    async fn inner() -> Result<u64, std::io::Error> {
        charge(1).await
    }
    let closure = || charge(1);
    let async_closure = async || charge(1).await;
    let spawned = tokio::spawn(async { charge(1).await });
    let sum = closure().await? + async_closure().await? + async { charge(1).await }.await?;
    Ok(sum + inner().await? + spawned.await.map_err(std::io::Error::other)??)
}

#[retryable(at_most_once, max_attempts = 3, deadline = "5s")]
async fn macros() -> Result<u64, Stopped<std::io::Error>> {
    macro_rules! finish {
        ($call:expr) => {
            $call.await
        };
    }
    let receipts = vec![charge(1).await?, 2];
    println!("{}", charge(1).await?);
    let (a, b) = tokio::join!(other(), charge(1));
    let (c, d) = tokio::try_join!(charge(1), other())?;
    let e = tokio::select! {
        receipt = charge(1), if charge(1).await.is_ok() => receipt?,
        else => charge(1).await?,
    };
    Ok(receipts[0] + a? + b? + c + d + e + finish!(charge(1))?)
}

#[retryable(at_most_once, max_attempts = 3, deadline = "5s")]
async fn timeouts() -> Result<u64, Stopped<std::io::Error>> {
    let second = Duration::from_secs(1);
    let a = timeout(second, charge(1)).await.map_err(std::io::Error::other)??;
    let b =
        timeout_at(Instant::now() + second, charge(1)).await.map_err(std::io::Error::other)??;
    Ok(a + b + charge(1).into_future().await?)
}

fn main() {}
