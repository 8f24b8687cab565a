//! HTTP: what an answer means for the retry, and what a request says about its
//! attempt. Feature `http`.
//!
//! | direction | what | here |
//! |---|---|---|
//! | in, as a client | status → failure | [`Profile`] |
//! | in, as a client | `Retry-After`, `retry-forbidden` → hint | [`hint`], [`retry_after`], [`parse_retry_after`] |
//! | out, as a client | `Idempotency-Key` | [`insert_key`] |
//! | out, as a client | `retry-attempt`, `retry-remaining-ms` | [`insert_attempt`] |
//! | out, as a client | `grpc-timeout` | [`insert_grpc_timeout`] |
//! | in, as a server | `Idempotency-Key` | [`idempotency_key`] |
//! | in, as a server | `retry-attempt`, `retry-remaining-ms`, `grpc-timeout` | [`Inbound`] |
//! | in, as a server | the same, as the deadline of every operation that the handler runs | [`InboundLayer`] (feature `tower`) |
//! | out, as a server | stop → status, `Retry-After`, `retry-forbidden` | [`Stopped::answer`](crate::Stopped::answer), [`answer()`] |
//!
//! One call turns a response into a failure:
//!
//! ```
//! use std::time::{Duration, SystemTime};
//! use http::{HeaderMap, HeaderValue, StatusCode, header};
//! use retry_core::http::Profile;
//! use retry_core::{Effect, Hint, Kind};
//!
//! let mut headers = HeaderMap::new();
//! headers.insert(header::RETRY_AFTER, HeaderValue::from_static("2"));
//!
//! let now = SystemTime::now();
//! let failure = Profile::STANDARD.failure(StatusCode::TOO_MANY_REQUESTS, &headers, now);
//! let failure = failure.expect("429 is a failure");
//! assert_eq!((failure.effect(), failure.kind()), (Effect::None, Kind::Throttled));
//! assert_eq!(failure.hint(), Some(Hint::Wait(Duration::from_secs(2))));
//!
//! assert_eq!(Profile::STANDARD.failure(StatusCode::OK, &headers, now), None);
//! ```
//!
//! An error of your own keeps what the answer said, and asks when it is judged:
//!
//! ```
//! # #[cfg(feature = "macros")] {
//! use http::{HeaderMap, StatusCode};
//! use retry_core::http::Profile;
//! use retry_core::{Classify, Failure, clock};
//!
//! #[derive(Debug, Classify)]
//! enum ApiError {
//!     #[retry(with = answered)]
//!     Answered(StatusCode, HeaderMap),
//!     #[retry(delegate)]
//!     Io(std::io::Error),
//! }
//!
//! /// On the clock of the scope, so that a test's calendar counts too.
//! fn answered(status: &StatusCode, headers: &HeaderMap) -> Failure {
//!     let failure = Profile::STANDARD.failure(*status, headers, clock::utc());
//!     failure.unwrap_or(Failure::unknown())
//! }
//! # }
//! ```

mod answer;
mod grpc_timeout;
mod headers;
mod inbound;
#[cfg(feature = "tower")]
mod inbound_layer;
mod profile;
mod retry_after;
mod time_left;

pub use answer::{Answer, answer};
pub use grpc_timeout::{GRPC_TIMEOUT, insert_grpc_timeout};
pub use headers::{
    IDEMPOTENCY_KEY, KeySyntax, RETRY_ATTEMPT, RETRY_FORBIDDEN, RETRY_REMAINING_MS, hint,
    idempotency_key, insert_attempt, insert_key,
};
pub use inbound::Inbound;
#[cfg(feature = "tower")]
pub use inbound_layer::{InboundFuture, InboundLayer, InboundService};
pub use profile::Profile;
pub use retry_after::{parse_retry_after, retry_after};
pub use time_left::NoTimeLeft;

/// `1*DIGIT`, saturating. Rust's own parser takes a sign, which no grammar
/// here allows.
fn digits(value: &[u8]) -> Option<u64> {
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number = value.iter().fold(0_u64, |number, digit| {
        number.saturating_mul(10).saturating_add(u64::from(digit - b'0'))
    });
    Some(number)
}
