//! The same loop, cut at the deadline: what a hand-written loop needs to give
//! the promise that an attempt which hangs still ends.

use std::time::Instant;

use tokio::time::error::Elapsed;
use tokio::time::{sleep, timeout};

use super::hand;
use crate::subject::{repeat, size_of_future};
use crate::{BASE, CallError, DEADLINE, Gateway, MAX_ATTEMPTS, Scenario, Subject};

pub(super) const SUBJECT: Subject = Subject {
    name: "hand loop under timeout",
    deadline: "cut",
    run: |scenario, times| match scenario {
        Scenario::Ready | Scenario::WaitsOnce => repeat!(scenario, times, charge),
        Scenario::ThreeFailures => repeat!(scenario, times, charge_without_waits),
    },
    future_size: || size_of_future(send),
};

/// What the caller gets: the last error, or that the time is up.
#[expect(dead_code, reason = "a caller would read it; this one only asks whether it is there")]
enum Cut {
    Error(CallError),
    Elapsed(Elapsed),
}

fn flat(outcome: Result<Result<u64, CallError>, Elapsed>) -> Result<u64, Cut> {
    match outcome {
        Ok(outcome) => outcome.map_err(Cut::Error),
        Err(elapsed) => Err(Cut::Elapsed(elapsed)),
    }
}

/// As one writes it: the loop stays a function, and goes under `timeout`.
async fn charge(gateway: &Gateway) -> Result<u64, Cut> {
    flat(timeout(DEADLINE, hand::charge(gateway)).await)
}

async fn charge_without_waits(gateway: &Gateway) -> Result<u64, Cut> {
    flat(timeout(DEADLINE, hand::charge_without_waits(gateway)).await)
}

/// The smallest future of this promise: the loop is a block, which borrows the
/// arguments instead of holding them a second time.
async fn send(gateway: &mut Gateway, order: String) -> Result<u64, Cut> {
    let operation = async {
        let started = Instant::now();
        let mut attempt = 1;
        loop {
            let error = match gateway.send(&order).await {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            let delay = BASE * 2_u32.pow(attempt - 1);
            if !error.is_transient()
                || attempt == MAX_ATTEMPTS
                || started.elapsed() + delay >= DEADLINE
            {
                return Err(error);
            }
            sleep(delay).await;
            attempt += 1;
        }
    };
    flat(timeout(DEADLINE, operation).await)
}
