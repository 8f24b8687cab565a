use retry_core::non_idempotent;

#[non_idempotent(keyed_by = key)]
async fn charge(key: u64) -> u64 {
    key
}

#[non_idempotent(crat = retry_core)]
async fn refund(key: u64) -> u64 {
    key
}

async fn call() -> u64 {
    charge(1).await + refund(2).await
}

fn main() {}
