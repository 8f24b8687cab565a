//! The body alone: what every other line has on top.

use crate::subject::{repeat, size_of_future};
use crate::{CallError, Gateway, Scenario, Subject};

pub(super) const SUBJECT: Subject = Subject {
    name: "body",
    deadline: "no retry",
    run: |scenario, times| match scenario {
        Scenario::Ready | Scenario::WaitsOnce => repeat!(scenario, times, charge),
        Scenario::ThreeFailures => repeat!(scenario, times, charge_at_the_fourth_call),
    },
    future_size: || size_of_future(Gateway::send),
};

async fn charge(gateway: &Gateway) -> Result<u64, CallError> {
    gateway.attempt().await
}

/// The calls alone, one after the other.
async fn charge_at_the_fourth_call(gateway: &Gateway) -> Result<u64, CallError> {
    for _ in 0..3 {
        gateway.attempt().await.err();
    }
    gateway.attempt().await
}
