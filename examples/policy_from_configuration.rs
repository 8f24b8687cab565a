//! Policies from a configuration: judged when they are read, explained before
//! they are used, and replaced while operations run.

use std::error::Error;
use std::time::Duration;

use retry_core::clock::{Clock, VirtualClock};
use retry_core::{IdempotencyKey, OperationId, Policies, Policy, Retrier, Stopped, retryable};

/// `Policies::read("policies.toml")` reads it from a file.
const CONFIGURATION: &str = r#"
[policies.charge]
max_attempts = 5
deadline = "30s"
attempt_timeout = "2s"
backoff = { exponential = "250ms", cap = "5s" }

[policies.balance]
max_attempts = 3
deadline = "5s"
"#;

#[derive(Debug, thiserror::Error, retry_core::Classify)]
#[error("busy")]
#[retry(transient, no_effect)]
struct Busy;

struct Payments {
    retries: Retrier,
}

impl Payments {
    #[retryable(name = "payments.charge", key = order, policy = "charge", with = self.retries)]
    async fn charge(&self, order: &str) -> Result<IdempotencyKey, Stopped<Busy>> {
        // A gateway that is always busy, to see the whole schedule.
        if order.is_empty() { Ok(key) } else { Err(Busy) }
    }

    #[retryable(idempotent, policy = "balance", with = self.retries)]
    async fn balance(&self) -> Result<u64, Stopped<Busy>> {
        Ok(250)
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let policies = Policies::from_toml(CONFIGURATION)?;
    let payments = Payments { retries: Retrier::builder().policies(policies).build() };

    println!("What the configuration means for order-1, before anything runs:\n");
    let key = IdempotencyKey::derive("payments.charge", "order-1")?;
    let id = OperationId::keyed("payments.charge", key);
    if let Some(policy) = payments.retries.policy("charge") {
        println!("{}", policy.explain(id));
    }

    println!("The same order, run against a gateway that is always busy:\n");
    let clock = VirtualClock::new();
    if let Err(stopped) = clock.clone().scope(payments.charge("order-1")).await {
        println!("{}", stopped.story());
    }
    println!("The balance, under the other policy: {}\n", payments.balance().await?);

    println!("A configuration that cannot be right is refused, with the line:\n");
    if let Err(error) = Policies::from_toml(&CONFIGURATION.replace("\"2s\"", "\"30s\"")) {
        println!("{error}\n");
    }

    println!("Another set takes its place; a policy that is not in it stops the call:\n");
    let refund = Policy::new(2, Duration::from_secs(10));
    payments.retries.replace_policies(Policies::new().with("refund", refund)?);
    if let Err(stopped) = clock.scope(payments.charge("order-2")).await {
        println!("{stopped}");
    }
    Ok(())
}
