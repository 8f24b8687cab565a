//! The mistakes that the compiler finds in what the attribute wrote.
#![deny(unused_variables)]
use std::num::ParseIntError;

use retry_core::{Classify, Stopped, non_idempotent, retryable};

#[derive(Debug, Classify)]
enum PayError {
    #[retry(transient)]
    Busy,
    Declined,
}

#[non_idempotent]
async fn print_label(_parcel: u64) -> Result<(), PayError> {
    Ok(())
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn prints(parcel: u64) -> Result<(), Stopped<PayError>> {
    print_label(parcel).await
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn bare() -> Result<(), PayError> {
    Err(PayError::Busy)
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn bare_io() -> Result<(), std::io::Error> {
    Ok(())
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn foreign(text: &str) -> Result<u64, Stopped<ParseIntError>> {
    text.parse()
}

fn main() {}
