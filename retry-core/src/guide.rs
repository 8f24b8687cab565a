//! What no single item can say. These pages exist in the documentation only.
//!
//! - [`results_and_effects`]: what is guaranteed, and which of the three
//!   declarations fits.
//! - [`testing`]: virtual time, recorded events, schedules as data.
//! - [`limits`]: what neither types nor the running attempt can see, with the
//!   case.
//! - [`migration`]: from backon, tokio-retry, tower and Spring.
//! - [`standards`]: what follows RFC 9110, RFC 6585, the `Idempotency-Key` draft
//!   and gRPC A6, and where it does not.
//!
//! The options of the attribute are at [`retryable`](macro@crate::retryable).

#[doc = include_str!("../docs/results_and_effects.md")]
pub mod results_and_effects {}

#[doc = include_str!("../docs/testing.md")]
pub mod testing {}

#[doc = include_str!("../docs/limits.md")]
pub mod limits {}

#[doc = include_str!("../docs/migration.md")]
pub mod migration {}

#[doc = include_str!("../docs/standards.md")]
pub mod standards {}
