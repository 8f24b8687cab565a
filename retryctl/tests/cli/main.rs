//! The program as its users run it: what it prints, and its exit codes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "in helpers of tests")]

mod explain;
mod list;
mod plan;
mod readme;
mod refused;
mod replay;
mod run;
mod store;
