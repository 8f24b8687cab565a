//! What takes a future does not take one of these by accident.
use std::pin::pin;

use retry_core::non_idempotent;

#[non_idempotent]
async fn charge() -> u64 {
    1
}

fn spawn(_task: impl Future<Output = u64>) {}

async fn call() {
    spawn(charge());
    Box::pin(charge()).await;
    pin!(charge()).await;
}

fn main() {}
