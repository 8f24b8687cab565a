//! Budgeted, explainable retries for async functions.

mod nanos;

pub mod classify;
mod hint;
#[cfg(feature = "http")]
pub mod http;
pub mod key;
mod stop;

pub use classify::{Class, Classify, Effect, Failure, Kind};
pub use hint::Hint;
pub use key::IdempotencyKey;
pub use stop::{StopReason, UnknownStopReason};
