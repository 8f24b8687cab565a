//! `#[retryable]`, with its numbers as literals, as one writes it: the same as
//! the constants that the others use.

use std::hint::black_box;
use std::time::Duration;

use retry_core::{
    Backoff, Classify, Failure, Ledger, OperationId, Policy, Situation, Stopped, decide, retryable,
};

use crate::subject::{Ours, repeat, size_of_future};
use crate::{BASE, CallError, DEADLINE, Gateway, MAX_ATTEMPTS, Scenario, Subject};

pub(super) const OURS: Ours = Ours { subject: &SUBJECT, decide: decide_once };

const SUBJECT: Subject = Subject {
    name: "`#[retryable]`",
    deadline: "cut",
    run: |scenario, times| match scenario {
        Scenario::Ready | Scenario::WaitsOnce => repeat!(scenario, times, charge),
        Scenario::ThreeFailures => repeat!(scenario, times, charge_without_waits),
    },
    future_size: || size_of_future(send),
};

impl Classify for CallError {
    fn classify(&self) -> Failure {
        if self.is_transient() { Failure::transient() } else { Failure::permanent() }
    }
}

#[retryable(idempotent, max_attempts = 4, deadline = "30s", backoff = Backoff::exponential(Duration::from_millis(100)))]
async fn charge(gateway: &Gateway) -> Result<u64, Stopped<CallError>> {
    gateway.attempt().await
}

#[retryable(idempotent, max_attempts = 4, deadline = "30s", backoff = Backoff::fixed(Duration::from_millis(0)))]
async fn charge_without_waits(gateway: &Gateway) -> Result<u64, Stopped<CallError>> {
    gateway.attempt().await
}

#[retryable(idempotent, max_attempts = 4, deadline = "30s", backoff = Backoff::exponential(Duration::from_millis(100)))]
async fn send(gateway: &mut Gateway, order: String) -> Result<u64, Stopped<CallError>> {
    gateway.send(&order).await
}

/// One decision after a first failure, of an operation without a key.
fn decide_once(operation: u64) {
    const POLICY: Policy = Policy::new(MAX_ATTEMPTS, DEADLINE).backoff(Backoff::exponential(BASE));

    let mut ledger = Ledger::new();
    ledger.attempt_started();
    let failure = Failure::transient();
    ledger.attempt_failed(Duration::from_millis(80), &failure);
    let id = OperationId::counted("payments.charge", 0x1d07_6c1c_21f0_66e2, operation);
    let _ = black_box(decide(
        black_box(&POLICY),
        black_box(&ledger),
        &Situation::new(),
        &id,
        Some(black_box(&failure)),
    ));
}
