//! `reqwest::Error`, by what reqwest and hyper say about it.

use ::reqwest::Error;

use crate::classify::{Classify, Failure, Kind, find_source};
use crate::http::Profile;

/// The first row that fits decides:
///
/// | error | failure |
/// |---|---|
/// | an error status, from `error_for_status` | as [`Profile::STANDARD`] says; reqwest drops the headers, so there is no hint |
/// | the request could not be built, or a redirect not followed | permanent |
/// | no connection: refused, reset or cut while it was made, unknown host, TLS refused | transient, effect none, connect |
/// | no connection within `connect_timeout`, or the operating system's own | transient, effect none, timeout |
/// | any other time-out | transient, effect possible, timeout |
/// | an answer that is not HTTP | unknown |
/// | the connection reset or closed while sending, waiting, or reading the answer | transient, effect possible, connect |
/// | a body that does not decode, and everything else | unknown |
///
/// An answer that nobody understands may stand for work that was done, so a
/// person looks at it. A connection that cannot be made is transient also where
/// waiting will not help, as with a certificate that is refused: reqwest does not
/// tell these apart.
///
/// What an HTTP/2 server says it has not processed (`REFUSED_STREAM`, `GOAWAY`)
/// reqwest repeats itself. Where it gives up, the effect is possible.
///
/// With a client that follows redirects, "no connection" is about the last
/// server that it was sent to: see [the module](crate::reqwest).
///
/// ```
/// use retry_core::{Class, Classify};
///
/// let error = reqwest::Client::new().get("not a url").build().unwrap_err();
/// assert_eq!(error.classify().class(), Class::Permanent);
/// ```
impl Classify for Error {
    fn classify(&self) -> Failure {
        if let Some(failure) = self.status().and_then(|status| Profile::STANDARD.classify(status)) {
            return failure;
        }
        if self.is_builder() || self.is_redirect() {
            return Failure::permanent();
        }
        if self.is_connect() {
            let kind = if self.is_timeout() { Kind::Timeout } else { Kind::Connect };
            return Failure::transient().no_effect().with_kind(kind);
        }
        if self.is_timeout() {
            return Failure::timeout();
        }
        let broken = Failure::transient().with_kind(Kind::Connect);
        match find_source::<hyper::Error>(self) {
            Some(hyper) if hyper.is_parse() => Failure::unknown(),
            None if !self.is_request() => Failure::unknown(),
            _ => broken,
        }
    }
}
