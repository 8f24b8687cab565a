use retry_core::non_idempotent;

#[non_idempotent]
struct Bank;

#[non_idempotent]
impl Bank {
    async fn charge(&self) {}
}

async fn charge() {
    Bank.charge().await;
}

fn main() {}
