//! What a caller says about its attempt, as the server reads it.

use std::time::Duration;

use ::http::HeaderMap;

use super::{GRPC_TIMEOUT, RETRY_ATTEMPT, RETRY_REMAINING_MS, digits, grpc_timeout};

/// What the caller of this server said about its attempt: which one it is, and
/// what is left of its time.
///
/// Under an [`InboundLayer`](super::InboundLayer) (feature `tower`) it lies in
/// the request's extensions; with the feature `axum` a handler takes it as an
/// argument. Without the layer it is only read: what it says bounds nothing.
///
/// ```
/// use std::time::Duration;
/// use http::{HeaderMap, HeaderValue};
/// use retry_core::http::Inbound;
///
/// let mut headers = HeaderMap::new();
/// headers.insert("retry-attempt", HeaderValue::from_static("2"));
/// headers.insert("retry-remaining-ms", HeaderValue::from_static("1999"));
/// let inbound = Inbound::from_headers(&headers);
/// assert_eq!(inbound.attempt(), Some(2));
/// assert_eq!(inbound.remaining(), Some(Duration::from_millis(1_999)));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inbound {
    attempt: Option<u32>,
    remaining: Option<Duration>,
}

impl Inbound {
    /// Reads `retry-attempt`, `retry-remaining-ms` and `grpc-timeout`.
    ///
    /// What cannot be read is passed over. Of several times the shortest counts;
    /// of several numbers none does.
    pub fn from_headers(headers: &HeaderMap) -> Self {
        Self { attempt: attempt(headers), remaining: remaining(headers) }
    }

    /// The number of the caller's attempt, from 1; `None` where it did not say.
    /// It is the caller's word: good for logs, not for decisions.
    pub const fn attempt(&self) -> Option<u32> {
        self.attempt
    }

    /// What the caller had left when the request arrived; `None` where it did
    /// not say. Under a layer with a [`deadline`](super::InboundLayer::deadline),
    /// that one where it is shorter.
    pub const fn remaining(&self) -> Option<Duration> {
        self.remaining
    }

    /// With this deadline too.
    #[cfg(feature = "tower")]
    pub(super) fn at_most(self, deadline: Option<Duration>) -> Self {
        let remaining = self.remaining.into_iter().chain(deadline).min();
        Self { remaining, ..self }
    }
}

fn attempt(headers: &HeaderMap) -> Option<u32> {
    let mut lines = headers.get_all(RETRY_ATTEMPT).iter();
    let (Some(line), None) = (lines.next(), lines.next()) else {
        return None;
    };
    let number = digits(line.as_bytes())?;
    u32::try_from(number).ok().filter(|number| *number > 0)
}

fn remaining(headers: &HeaderMap) -> Option<Duration> {
    let own = headers
        .get_all(RETRY_REMAINING_MS)
        .iter()
        .filter_map(|value| digits(value.as_bytes()).map(Duration::from_millis));
    let grpc = headers
        .get_all(GRPC_TIMEOUT)
        .iter()
        .filter_map(|value| grpc_timeout::parse(value.as_bytes()));
    own.chain(grpc).min()
}

/// What the [`InboundLayer`](super::InboundLayer) around put into the request;
/// without one, what the headers say. Feature `axum`.
#[cfg(feature = "axum")]
impl<S: Sync> axum_core::extract::FromRequestParts<S> for Inbound {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(
        parts: &mut ::http::request::Parts,
        _: &S,
    ) -> Result<Self, Self::Rejection> {
        let layered = parts.extensions.get().copied();
        Ok(layered.unwrap_or_else(|| Self::from_headers(&parts.headers)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[(&'static str, &'static str)]) -> Inbound {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, value.parse().unwrap());
        }
        Inbound::from_headers(&headers)
    }

    #[test]
    fn a_caller_that_says_nothing_bounds_nothing() {
        assert_eq!(read(&[]), Inbound::default());
    }

    #[test]
    fn the_shortest_time_that_can_be_read_counts() {
        let millis = |lines: &[(&'static str, &'static str)]| {
            read(lines).remaining().map(|remaining| remaining.as_millis())
        };
        assert_eq!(millis(&[("retry-remaining-ms", "700")]), Some(700));
        assert_eq!(millis(&[("grpc-timeout", "2S")]), Some(2000));
        assert_eq!(millis(&[("grpc-timeout", "2S"), ("retry-remaining-ms", "700")]), Some(700));
        assert_eq!(millis(&[("grpc-timeout", "5m"), ("retry-remaining-ms", "700")]), Some(5));
        let twice = [("retry-remaining-ms", "700"), ("retry-remaining-ms", "500")];
        assert_eq!(millis(&twice), Some(500));
        assert_eq!(millis(&[("retry-remaining-ms", "0")]), Some(0));
        for garbled in ["+5", "-1", "", "1.5", "5 ms"] {
            let lines = [("retry-remaining-ms", garbled), ("grpc-timeout", "1s")];
            assert_eq!(millis(&lines), None, "{garbled:?}");
            let beside = [("retry-remaining-ms", garbled), ("grpc-timeout", "1S")];
            assert_eq!(millis(&beside), Some(1000), "{garbled:?}");
        }
    }

    #[test]
    fn an_attempt_has_one_number_from_1() {
        let number = |value| read(&[("retry-attempt", value)]).attempt();
        assert_eq!(number("1"), Some(1));
        assert_eq!(number("4294967295"), Some(u32::MAX));
        for value in ["0", "4294967296", "99999999999999999999999", "+1", "-1", "", "1.0"] {
            assert_eq!(number(value), None, "{value:?}");
        }
        assert_eq!(read(&[("retry-attempt", "1"), ("retry-attempt", "1")]).attempt(), None);
    }

    #[cfg(feature = "axum")]
    #[test]
    fn a_handler_without_a_layer_reads_the_headers() {
        use axum_core::extract::FromRequestParts;

        let request = ::http::Request::builder().header("retry-attempt", "2").body(()).unwrap();
        let (mut parts, ()) = request.into_parts();
        let extract = Inbound::from_request_parts(&mut parts, &());
        let Ok(inbound) = futures::executor::block_on(extract);
        assert_eq!(inbound.attempt(), Some(2));
    }
}
