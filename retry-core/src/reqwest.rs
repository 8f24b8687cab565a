//! reqwest: its errors as failures, and requests as parts of an attempt.
//! Feature `reqwest`.
//!
//! [`Attempt::send`](crate::Attempt::send) is what an attempt's body calls in
//! place of reqwest's own `send`. It tells the other side which attempt this is
//! and what time is left, adds the `Idempotency-Key`, and makes an error of an
//! error status. [`SendError`] and `reqwest::Error` are both
//! [`Classify`](crate::Classify), so a body that returns one of them needs no
//! classification of its own.
//!
//! ```
//! use retry_core::reqwest::SendError;
//! use retry_core::{Stopped, retryable};
//!
//! #[retryable(name = "payments.charge", key = order, attempt, max_attempts = 5, deadline = "30s")]
//! async fn charge(client: &reqwest::Client, order: &str) -> Result<String, Stopped<SendError>> {
//!     let request = client.post("https://payments.example/charges").body(order.to_owned());
//!     let response = attempt.send(request).key(key).await?;
//!     Ok(response.text().await?)
//! }
//! ```
//!
//! Two settings of the client matter here:
//!
//! - An `at_most_once` operation wants `redirect(reqwest::redirect::Policy::none())`.
//!   reqwest's error does not tell whether a redirect was followed before, so
//!   where the first server acted, answered 303, and the second one cannot be
//!   reached, the failure says that nothing happened.
//! - A retry policy of reqwest's own (`ClientBuilder::retry`) multiplies the
//!   attempts that are made here. Its default is fine: it repeats only what an
//!   HTTP/2 server says it has not processed.

mod classify;
mod error;
mod send;

pub use error::SendError;
pub use send::SendRequest;
