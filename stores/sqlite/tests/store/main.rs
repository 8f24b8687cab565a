//! What a store in a file promises, beside what every store does.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod clock;
mod conformance;
mod damage;
mod locks;
mod migration;
mod moved;
mod opening;
mod order;
mod records;
mod schema;
#[path = "../support/mod.rs"]
mod support;
mod tables;
mod watching;
