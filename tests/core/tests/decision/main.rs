//! The rules of the decision, exhaustively where the space is small and by
//! property where it is not.
#![allow(clippy::panic, clippy::unwrap_used, reason = "in helpers of tests")]

mod arbitrary;
mod at_most_once;
mod order;
mod properties;
