//! The loop that one writes by hand: it reads a clock between attempts, and
//! cannot cut an attempt that hangs.

use std::time::Instant;

use tokio::time::sleep;

use crate::subject::{repeat, size_of_future};
use crate::{BASE, CallError, DEADLINE, Gateway, MAX_ATTEMPTS, Scenario, Subject};

pub(super) const SUBJECT: Subject = Subject {
    name: "hand loop",
    deadline: "reads a clock",
    run: |scenario, times| match scenario {
        Scenario::Ready | Scenario::WaitsOnce => repeat!(scenario, times, charge),
        Scenario::ThreeFailures => repeat!(scenario, times, charge_without_waits),
    },
    future_size: || size_of_future(send),
};

pub(super) async fn charge(gateway: &Gateway) -> Result<u64, CallError> {
    let started = Instant::now();
    let mut attempt = 1;
    loop {
        let error = match gateway.attempt().await {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        let delay = BASE * 2_u32.pow(attempt - 1);
        if !error.is_transient() || attempt == MAX_ATTEMPTS || started.elapsed() + delay >= DEADLINE
        {
            return Err(error);
        }
        sleep(delay).await;
        attempt += 1;
    }
}

pub(super) async fn charge_without_waits(gateway: &Gateway) -> Result<u64, CallError> {
    let started = Instant::now();
    let mut attempt = 1;
    loop {
        let error = match gateway.attempt().await {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        if !error.is_transient() || attempt == MAX_ATTEMPTS || started.elapsed() >= DEADLINE {
            return Err(error);
        }
        attempt += 1;
    }
}

async fn send(gateway: &mut Gateway, order: String) -> Result<u64, CallError> {
    let started = Instant::now();
    let mut attempt = 1;
    loop {
        let error = match gateway.send(&order).await {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        let delay = BASE * 2_u32.pow(attempt - 1);
        if !error.is_transient() || attempt == MAX_ATTEMPTS || started.elapsed() + delay >= DEADLINE
        {
            return Err(error);
        }
        sleep(delay).await;
        attempt += 1;
    }
}
