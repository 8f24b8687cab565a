use retry_core::retryable;

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
struct Payments {
    book: Vec<u64>,
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
impl Payments {
    async fn charge(&self) {}
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
mod payments {}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
const LIMIT: u64 = 3;

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
trait Gateway {}

fn main() {
    let _ = Payments { book: vec![LIMIT] }.charge();
}
