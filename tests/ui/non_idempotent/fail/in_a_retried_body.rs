//! What `#[retryable]` writes before every `.await`.
use retry_core::__private::Guard as _;
use retry_core::{NonIdempotent, non_idempotent};

#[non_idempotent]
async fn charge(amount: u64) -> Result<u64, String> {
    Ok(amount)
}

trait Bank {
    #[non_idempotent]
    async fn charge(&self, amount: u64) -> u64;
}

async fn body(bank: &impl Bank, ready: std::future::Ready<u8>) -> Result<u64, String> {
    ready.__retry_guard().await;
    bank.charge(1).__retry_guard().await;
    NonIdempotent::new(async {}).__retry_guard().await;
    charge(1).__retry_guard().await
}

fn main() {}
