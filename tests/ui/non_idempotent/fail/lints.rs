//! Lints see the function as it is written.
#![deny(unused_variables, unused_mut, unused_must_use, unreachable_code)]

use retry_core::non_idempotent;

#[non_idempotent]
async fn charge(amount: u64, mut fee: u64, (a, b): (u64, u64)) -> u64 {
    fee + a
}

#[non_idempotent]
async fn refund() -> u64 {
    return 1;
    2
}

async fn call() {
    charge(1, 2, (3, 4));
}

fn main() {}
