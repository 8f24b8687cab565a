use retry_core::non_idempotent;

trait Bank {
    #[non_idempotent]
    async fn charge(&self, amount: u64) -> u64;
}

struct Local;

impl Bank for Local {
    async fn charge(&self, amount: u64) -> u64 {
        amount
    }
}

fn main() {}
