//! The circuit breaker.
#![allow(clippy::panic, clippy::unwrap_used, reason = "in helpers of tests")]

mod building;
mod calls;
mod model;
mod open_periods;
mod states;
mod threads;
