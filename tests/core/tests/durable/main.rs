//! The loop of durable operations, on virtual time and a store in memory.
#![allow(clippy::panic, clippy::unwrap_used, reason = "in helpers of tests")]

mod answers;
mod crashes;
mod drops;
mod protected;
mod refused;
mod service;
