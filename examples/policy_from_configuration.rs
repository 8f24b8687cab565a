//! A policy that is read from a configuration: judged when it is read, and
//! explained before it is used.

use std::error::Error;
use std::time::Duration;

use retry_core::clock::{Clock, VirtualClock};
use retry_core::{Backoff, IdempotencyKey, OperationId, Policy, PolicyError, Stopped, retryable};
use serde::{Deserialize, Deserializer, de};

const CONFIGURATION: &str = r#"{
    "charge":  { "max_attempts": 5, "deadline_ms": 30000, "attempt_timeout_ms": 2000, "first_wait_ms": 250 },
    "balance": { "max_attempts": 3, "deadline_ms": 5000, "first_wait_ms": 100 }
}"#;

const WRONG: &str = r#"{
    "charge":  { "max_attempts": 5, "deadline_ms": 30000, "attempt_timeout_ms": 30000, "first_wait_ms": 250 },
    "balance": { "max_attempts": 3, "deadline_ms": 5000, "first_wait_ms": 100 }
}"#;

/// A policy as the file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Numbers {
    max_attempts: u32,
    deadline_ms: u64,
    attempt_timeout_ms: Option<u64>,
    first_wait_ms: u64,
}

impl TryFrom<Numbers> for Policy {
    type Error = PolicyError;

    fn try_from(numbers: Numbers) -> Result<Self, PolicyError> {
        let backoff = Backoff::exponential(Duration::from_millis(numbers.first_wait_ms));
        let deadline = Duration::from_millis(numbers.deadline_ms);
        let mut policy = Self::new(numbers.max_attempts, deadline).backoff(backoff);
        if let Some(timeout) = numbers.attempt_timeout_ms {
            policy = policy.attempt_timeout(Duration::from_millis(timeout));
        }
        policy.validate().map(|()| policy)
    }
}

#[derive(Deserialize)]
struct Policies {
    #[serde(deserialize_with = "policy")]
    charge: Policy,
    #[serde(deserialize_with = "policy")]
    balance: Policy,
}

fn policy<'de, D: Deserializer<'de>>(file: D) -> Result<Policy, D::Error> {
    Numbers::deserialize(file)?.try_into().map_err(de::Error::custom)
}

#[derive(Debug, thiserror::Error, retry_core::Classify)]
#[error("busy")]
#[retry(transient, no_effect)]
struct Busy;

struct Payments {
    policies: Policies,
}

impl Payments {
    #[retryable(name = "payments.charge", key = order, policy = self.policies.charge)]
    async fn charge(&self, order: &str) -> Result<IdempotencyKey, Stopped<Busy>> {
        // A gateway that is always busy, to see the whole schedule.
        if order.is_empty() { Ok(key) } else { Err(Busy) }
    }

    #[retryable(idempotent, policy = self.policies.balance)]
    async fn balance(&self) -> Result<u64, Stopped<Busy>> {
        Ok(250)
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let payments = Payments { policies: serde_json::from_str(CONFIGURATION)? };

    println!("What the configuration means for order-1, before anything runs:\n");
    let key = IdempotencyKey::derive("payments.charge", "order-1")?;
    let id = OperationId::keyed("payments.charge", key);
    println!("{}", payments.policies.charge.explain(id));

    println!("The same order, run against a gateway that is always busy:\n");
    let clock = VirtualClock::new();
    if let Err(stopped) = clock.scope(payments.charge("order-1")).await {
        println!("{}", stopped.story());
    }
    println!("The balance, under the other policy: {}\n", payments.balance().await?);

    println!("A file that cannot be right is refused at the start:\n");
    if let Err(error) = serde_json::from_str::<Policies>(WRONG) {
        println!("{error}");
    }
    Ok(())
}
