use retry_core::non_idempotent;

#[non_idempotent]
fn charge(amount: u64) {
    drop(amount);
}

struct Bank;

impl Bank {
    #[non_idempotent]
    fn charge(&self) {}
}

fn main() {
    charge(1);
    Bank.charge();
}
