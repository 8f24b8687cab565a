use retry_core::{IdempotencyKey, Stopped, non_idempotent, retryable};

#[non_idempotent]
async fn charge(amount: u64) -> Result<u64, std::io::Error> {
    Ok(amount)
}

async fn send(_: String, _: IdempotencyKey) -> Result<u64, std::io::Error> {
    Ok(1)
}

#[async_trait::async_trait]
trait Payments {
    async fn not_idempotent(&self, amount: u64) -> Result<u64, Stopped<std::io::Error>>;
    async fn no_options(&self) -> Result<u64, Stopped<std::io::Error>>;
    async fn consumed(&self, text: String) -> Result<u64, Stopped<std::io::Error>>;
    async fn wrong_type(&self, pair: (u64, u64)) -> Result<u64, Stopped<std::io::Error>>;
    async fn hidden_key(&self, pair: (u64, u64)) -> Result<u64, Stopped<std::io::Error>>;
}

struct Gateway {
    deadline: u64,
}

#[async_trait::async_trait]
impl Payments for Gateway {
    #[retryable(idempotent, max_attempts = 3, deadline = "5s")]
    async fn not_idempotent(&self, amount: u64) -> Result<u64, Stopped<std::io::Error>> {
        charge(amount).await
    }

    #[retryable]
    async fn no_options(&self) -> Result<u64, Stopped<std::io::Error>> {
        Ok(1)
    }

    #[retryable(name = "payments.send", key = &text, max_attempts = 3, deadline = "5s")]
    async fn consumed(&self, text: String) -> Result<u64, Stopped<std::io::Error>> {
        send(text, key).await
    }

    #[retryable(idempotent, max_attempts = 3, deadline = self.deadline)]
    async fn wrong_type(&self, (a, b): (u64, u64)) -> Result<u64, Stopped<std::io::Error>> {
        Ok(a + b)
    }

    #[retryable(name = "payments.hide", key = a, max_attempts = 3, deadline = "5s")]
    async fn hidden_key(&self, (a, key): (u64, u64)) -> Result<u64, Stopped<std::io::Error>> {
        Ok(a + key)
    }
}

fn main() {}
