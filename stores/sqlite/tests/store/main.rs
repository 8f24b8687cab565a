//! What a store in a file promises, beside what every store does.

#![allow(clippy::unwrap_used, reason = "tests")]

mod records;
mod support;
