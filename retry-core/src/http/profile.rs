//! Which statuses may be retried: the sources disagree, so there are several
//! profiles.

use std::ops::RangeInclusive;
use std::time::SystemTime;

use ::http::{HeaderMap, StatusCode};

use super::hint;
use crate::classify::{Class, Effect, Failure, Kind};
use crate::hint::Hint;

/// What a status means for the retry.
///
/// A profile says which statuses are transient; all other errors are
/// permanent. What a status says about the effect and the kind is the same in
/// every profile:
///
/// | status | effect | kind | source |
/// |---|---|---|---|
/// | 408 | possible | timeout | RFC 9110, 15.5.9 |
/// | 421 | none | connect | RFC 9110, 15.5.20: may be repeated whatever the method, on another connection |
/// | 425 | none | other | RFC 8470, 5.2: may be repeated without early data |
/// | 429 | none | throttled | RFC 6585, 4 |
/// | 504 | possible | timeout | RFC 9110, 15.6.5 |
/// | other 5xx, 503 included | possible | server | RFC 9110, 15.6: a server may fail after it has acted |
/// | other 4xx | possible | other | |
///
/// A status that is in no standard counts as the first of its class, as RFC
/// 9110, section 15, demands: 529 as 500, 460 as 400, and one above 599 as 500.
/// A profile that lists such a status by number goes before that.
///
/// Redirects and everything below 400 are no failure: `None`.
///
/// | | 408 | 409 | 421 | 425 | 429 | 500 | 501 | 502, 503, 504 | 505 to 511 | 413 with `Retry-After` |
/// |---|---|---|---|---|---|---|---|---|---|---|
/// | [`STANDARD`](Self::STANDARD) | yes | | yes | yes | yes | yes | | yes | | yes |
/// | [`OTLP`](Self::OTLP) | | | | | yes | | | yes | | |
/// | [`GO_RETRYABLEHTTP`](Self::GO_RETRYABLEHTTP) | | | | | yes | yes | | yes | yes | |
/// | [`DOTNET`](Self::DOTNET) | yes | | | | yes | yes | yes | yes | yes | |
/// | each, [`keyed`](Self::keyed) | | yes | | | | | | | | |
///
/// ```
/// use http::StatusCode;
/// use retry_core::http::Profile;
/// use retry_core::{Class, Effect};
///
/// let busy = Profile::STANDARD.classify(StatusCode::SERVICE_UNAVAILABLE).expect("a failure");
/// assert_eq!((busy.class(), busy.effect()), (Class::Transient, Effect::Possible));
/// assert_eq!(busy.code(), Some(503));
///
/// let conflict = StatusCode::CONFLICT;
/// let class = |profile: Profile| profile.classify(conflict).map(|failure| failure.class());
/// assert_eq!(class(Profile::STANDARD), Some(Class::Permanent));
/// assert_eq!(class(Profile::STANDARD.keyed()), Some(Class::Transient));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Profile {
    transient: &'static [RangeInclusive<u16>],
    keyed: bool,
    waits_for_413: bool,
}

impl Profile {
    /// What the standards themselves allow a client to repeat.
    ///
    /// - 408 and 421: RFC 9110, 15.5.9 and 15.5.20; 425: RFC 8470; 429: RFC
    ///   6585.
    /// - 413 where it comes with `Retry-After`: RFC 9110, 15.5.14, the
    ///   condition is then temporary. Only [`failure`](Self::failure) sees it.
    /// - 409 is not repeated blindly: RFC 9110, 15.5.10, the caller resolves
    ///   the conflict first.
    /// - 500, 502, 503, 504. Not 501, 505, 506 and 510, which say what the
    ///   server will never do; not 507, which RFC 4918, 11.5, forbids to repeat
    ///   automatically; not 508 and 511, which somebody must act on.
    pub const STANDARD: Self = Self {
        transient: &[408..=408, 421..=421, 425..=425, 429..=429, 500..=500, 502..=504],
        keyed: false,
        waits_for_413: true,
    };

    /// The OpenTelemetry protocol: 429, 502, 503 and 504; every other error
    /// must not be repeated. Source: "OTLP/HTTP Response", retryable response
    /// codes, in the OTLP specification.
    pub const OTLP: Self = Self::new(&[429..=429, 502..=504]);

    /// 429, and everything from 500 on except 501. Source: `DefaultRetryPolicy`
    /// of HashiCorp's go-retryablehttp; failsafe-go's `failsafehttp` has the
    /// same rule.
    pub const GO_RETRYABLEHTTP: Self = Self::new(&[429..=429, 500..=500, 502..=999]);

    /// 408, 429, and everything from 500 on. Source: the standard resilience
    /// handler of .NET (`Microsoft.Extensions.Http.Resilience`).
    pub const DOTNET: Self = Self::new(&[408..=408, 429..=429, 500..=999]);

    /// A profile of your own: these statuses are transient.
    ///
    /// ```
    /// use http::StatusCode;
    /// use retry_core::Class;
    /// use retry_core::http::Profile;
    ///
    /// const SEARCH: Profile = Profile::new(&[429..=429, 500..=504]);
    /// let failure = SEARCH.classify(StatusCode::NOT_IMPLEMENTED).expect("a failure");
    /// assert_eq!(failure.class(), Class::Transient);
    /// ```
    pub const fn new(transient: &'static [RangeInclusive<u16>]) -> Self {
        Self { transient, keyed: false, waits_for_413: false }
    }

    /// The same profile for calls that carry an `Idempotency-Key`: 409 then
    /// says that the first call with the key is still running, and is
    /// transient; repeat it with the same key and the same payload. Source:
    /// draft-ietf-httpapi-idempotency-key-header, "Error Handling".
    ///
    /// 400 (the key is missing) and 422 (it came with another payload) stay
    /// permanent: the client must be corrected first.
    pub const fn keyed(self) -> Self {
        Self { keyed: true, ..self }
    }

    /// What the status alone means, with the status as the failure's code.
    /// `None` below 400, which is no failure.
    pub fn classify(&self, status: StatusCode) -> Option<Failure> {
        let code = status.as_u16();
        if code < 400 {
            return None;
        }
        let class = if self.is_transient(code) { Class::Transient } else { Class::Permanent };
        let (effect, kind) = effect_and_kind(code);
        Some(Failure::new(class).with_effect(effect).with_kind(kind).with_code(i64::from(code)))
    }

    /// What the status and the headers mean: [`classify`](Self::classify) with
    /// the [`hint`] of the headers. `now` is when the answer was received.
    pub fn failure(
        &self,
        status: StatusCode,
        headers: &HeaderMap,
        now: SystemTime,
    ) -> Option<Failure> {
        let failure = self.classify(status)?;
        let failure = match hint(headers, now) {
            Some(hint) => failure.with_hint(hint),
            None => failure,
        };
        let is_temporary = self.waits_for_413
            && status == StatusCode::PAYLOAD_TOO_LARGE
            && matches!(failure.hint(), Some(Hint::Wait(_)));
        Some(if is_temporary { failure.with_class(Class::Transient) } else { failure })
    }

    fn is_transient(&self, code: u16) -> bool {
        let listed = |code| self.transient.iter().any(|range| range.contains(&code));
        listed(code)
            || (self.keyed && code == StatusCode::CONFLICT.as_u16())
            || (!is_registered(code) && listed(if code < 500 { 400 } else { 500 }))
    }
}

fn effect_and_kind(code: u16) -> (Effect, Kind) {
    match code {
        408 | 504 => (Effect::Possible, Kind::Timeout),
        421 => (Effect::None, Kind::Connect),
        425 => (Effect::None, Kind::Other),
        429 => (Effect::None, Kind::Throttled),
        400..500 => (Effect::Possible, Kind::Other),
        _ => (Effect::Possible, Kind::Server),
    }
}

/// The error statuses of IANA's registry.
fn is_registered(code: u16) -> bool {
    matches!(code, 400..=418 | 421..=426 | 428 | 429 | 431 | 451 | 500..=508 | 510 | 511)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn transient(profile: Profile) -> Vec<u16> {
        let is_transient = |code: &u16| {
            let status = StatusCode::from_u16(*code).unwrap();
            profile.classify(status).is_some_and(|failure| failure.class() == Class::Transient)
        };
        (100..600).filter(is_registered_or_low).filter(is_transient).collect()
    }

    fn is_registered_or_low(code: &u16) -> bool {
        *code < 400 || is_registered(*code)
    }

    fn failure(status: u16, lines: &[(&'static str, &'static str)]) -> Failure {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, value.parse().unwrap());
        }
        let status = StatusCode::from_u16(status).unwrap();
        Profile::STANDARD.failure(status, &headers, SystemTime::UNIX_EPOCH).unwrap()
    }

    #[test]
    fn each_profile_retries_what_its_source_says() {
        assert_eq!(transient(Profile::STANDARD), [408, 421, 425, 429, 500, 502, 503, 504]);
        assert_eq!(transient(Profile::OTLP), [429, 502, 503, 504]);
        assert_eq!(
            transient(Profile::GO_RETRYABLEHTTP),
            [429, 500, 502, 503, 504, 505, 506, 507, 508, 510, 511]
        );
        assert_eq!(
            transient(Profile::DOTNET),
            [408, 429, 500, 501, 502, 503, 504, 505, 506, 507, 508, 510, 511]
        );
        assert_eq!(transient(Profile::OTLP.keyed()), [409, 429, 502, 503, 504]);
    }

    #[test]
    fn only_refusals_before_the_work_had_certainly_no_effect() {
        let no_effect: Vec<u16> =
            (400..600).filter(|code| effect_and_kind(*code).0 == Effect::None).collect();
        assert_eq!(no_effect, [421, 425, 429]);
    }

    #[test]
    fn an_unregistered_status_counts_as_the_first_of_its_class() {
        let class = |profile: Profile, code| {
            profile.classify(StatusCode::from_u16(code).unwrap()).unwrap().class()
        };
        assert_eq!(class(Profile::STANDARD, 529), Class::Transient);
        assert_eq!(class(Profile::STANDARD, 999), Class::Transient);
        assert_eq!(class(Profile::STANDARD, 460), Class::Permanent);
        assert_eq!(class(Profile::OTLP, 529), Class::Permanent);
        assert_eq!(class(Profile::new(&[529..=529]), 529), Class::Transient);
    }

    #[test]
    fn success_and_redirects_are_no_failure() {
        for code in [100, 200, 204, 301, 304, 399] {
            let status = StatusCode::from_u16(code).unwrap();
            assert_eq!(Profile::STANDARD.classify(status), None, "{code}");
        }
    }

    #[test]
    fn h11_a_hint_counts_on_any_failure() {
        let wait = Some(Hint::Wait(Duration::from_secs(7)));
        for status in [429, 500, 503, 404] {
            assert_eq!(failure(status, &[("retry-after", "7")]).hint(), wait, "{status}");
        }
        assert_eq!(failure(503, &[("retry-after", "soon")]).hint(), None);
    }

    #[test]
    fn the_other_side_can_forbid_the_retry() {
        let failure = failure(503, &[("retry-after", "7"), ("retry-forbidden", "1")]);
        assert_eq!(failure.hint(), Some(Hint::DoNotRetry));
    }

    #[test]
    fn too_large_is_temporary_where_a_time_is_given() {
        assert_eq!(failure(413, &[("retry-after", "7")]).class(), Class::Transient);
        assert_eq!(failure(413, &[("retry-after", "soon")]).class(), Class::Permanent);
        assert_eq!(failure(413, &[]).class(), Class::Permanent);
    }
}
