//! Type errors stand where they stand in an `async fn`.
use retry_core::non_idempotent;

#[derive(Debug)]
struct Declined;

#[non_idempotent]
async fn wrong_tail(amount: u64) -> Result<String, Declined> {
    Ok(amount)
}

#[non_idempotent]
async fn no_tail(amount: u64) -> Result<u64, Declined> {
    let _ = amount;
}

#[non_idempotent]
async fn wrong_return(amount: u64) -> Result<u64, Declined> {
    if amount == 0 {
        return amount;
    }
    Ok(amount)
}

#[non_idempotent]
async fn wrong_error(text: &str) -> Result<u64, Declined> {
    Ok(text.parse::<u64>()?)
}

fn main() {}
