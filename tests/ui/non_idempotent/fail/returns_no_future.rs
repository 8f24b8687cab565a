use retry_core::non_idempotent;

#[non_idempotent]
fn charge(amount: u64) -> Result<u64, String> {
    if amount == 0 {
        return Err("nothing to charge".to_owned());
    }
    Ok(amount)
}

#[non_idempotent]
fn count() -> u64 {
    1
}

fn main() {}
