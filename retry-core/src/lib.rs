//! Budgeted, explainable retries for async functions.

mod nanos;

pub mod classify;
mod hint;
pub mod key;
#[cfg(feature = "macros")]
mod macros;
mod stop;

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;

pub use classify::{Class, Classify, Effect, Failure, Kind};
pub use hint::Hint;
pub use key::IdempotencyKey;
pub use stop::{StopReason, UnknownStopReason};

#[cfg(feature = "macros")]
pub use macros::Classify;
