//! Processes that are killed, and media that fail, with the real store.
#![cfg(unix)]
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "in helpers of tests")]

mod audited;
mod calendar;
mod deadline;
mod flipped_byte;
mod full_disk;
mod kills;
mod read_only;
mod service;
mod starved;
