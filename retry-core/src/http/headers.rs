//! The headers that a request and an answer carry about a retry.

use std::time::{Duration, SystemTime};

use ::http::{HeaderMap, HeaderName, HeaderValue};

use super::retry_after;
use super::time_left::{NoTimeLeft, time_left};
use crate::hint::Hint;
use crate::key::{self, IdempotencyKey};

/// `Idempotency-Key`, of the request: the key by which the callee sees that two
/// calls are one (draft-ietf-httpapi-idempotency-key-header).
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// `retry-attempt`, of the request: the number of the attempt, from 1.
pub const RETRY_ATTEMPT: HeaderName = HeaderName::from_static("retry-attempt");

/// `retry-remaining-ms`, of the request: what is left of the caller's time in
/// whole milliseconds, rounded down, never 0.
pub const RETRY_REMAINING_MS: HeaderName = HeaderName::from_static("retry-remaining-ms");

/// `retry-forbidden`, of the answer: `1` says not to retry. Any other value says
/// nothing.
pub const RETRY_FORBIDDEN: HeaderName = HeaderName::from_static("retry-forbidden");

/// How a key is written into `Idempotency-Key`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum KeySyntax {
    /// `"e3c4b417-…"`, the quotes included: a string of RFC 8941, as the draft
    /// says.
    #[default]
    Quoted,
    /// `e3c4b417-…`, for services that take the characters as they come and
    /// would make the quotes a part of the key.
    Bare,
}

/// Sets `Idempotency-Key`, in the place of any that the request has.
///
/// ```
/// use http::HeaderMap;
/// use retry_core::IdempotencyKey;
/// use retry_core::http::{KeySyntax, insert_key};
///
/// let key = IdempotencyKey::derive("payments.charge", "order-1")?;
/// let mut headers = HeaderMap::new();
/// insert_key(&mut headers, &key, KeySyntax::Quoted);
/// assert_eq!(headers["idempotency-key"], r#""e3c4b417-f22e-8d73-b6ed-08fd2be399ec""#);
/// # Ok::<(), retry_core::key::EmptyKey>(())
/// ```
pub fn insert_key(headers: &mut HeaderMap, key: &IdempotencyKey, syntax: KeySyntax) {
    let mut buffer = [0; key::TEXT_LEN];
    let text = key.text(&mut buffer);
    let value = match syntax {
        KeySyntax::Quoted => HeaderValue::try_from(format!("\"{text}\"")),
        KeySyntax::Bare => HeaderValue::from_str(text),
    };
    // A key is hexadecimal digits and hyphens, which every header may hold.
    if let Ok(value) = value {
        headers.insert(IDEMPOTENCY_KEY, value);
    }
}

/// The `Idempotency-Key` of a request, as its client chose it: a string in
/// quotes, or the characters as they come. `None` where there is no such
/// header, several, or one that is neither; the answer to all of these is 400.
///
/// It names one call of that client, and another client may have chosen the
/// same: put who sent it into the key that is made of it.
///
/// ```
/// use http::{HeaderMap, HeaderValue};
/// use retry_core::http::{IDEMPOTENCY_KEY, idempotency_key};
///
/// let mut headers = HeaderMap::new();
/// headers.insert(IDEMPOTENCY_KEY, HeaderValue::from_static(r#""order-1""#));
/// assert_eq!(idempotency_key(&headers).as_deref(), Some("order-1"));
/// ```
pub fn idempotency_key(headers: &HeaderMap) -> Option<String> {
    let mut lines = headers.get_all(IDEMPOTENCY_KEY).iter();
    let (Some(line), None) = (lines.next(), lines.next()) else {
        return None;
    };
    let text = line.to_str().ok()?.trim_matches([' ', '\t']);
    let key = match text.strip_prefix('"') {
        Some(quoted) => unquoted(quoted)?,
        None if text.contains([' ', '\t', '"', ',', ';', '\\']) => return None,
        None => text.to_owned(),
    };
    (!key.is_empty()).then_some(key)
}

/// What stands before the closing quote (RFC 9651, 4.2.5). Parameters after it
/// mean nothing here.
fn unquoted(quoted: &str) -> Option<String> {
    let mut key = String::new();
    let mut chars = quoted.chars();
    loop {
        match chars.next()? {
            '"' => break,
            '\\' => key.push(chars.next().filter(|escaped| matches!(escaped, '"' | '\\'))?),
            plain @ ' '..='~' => key.push(plain),
            _ => return None,
        }
    }
    let rest = chars.as_str();
    (rest.is_empty() || rest.starts_with(';')).then_some(key)
}

/// Sets `retry-attempt` and `retry-remaining-ms`, in the place of any that the
/// request has: the number of the attempt, from 1, and what is left of its time
/// when the request is sent. Where the operation, a [`within`](crate::within())
/// or a caller around leaves less, that counts.
///
/// ```
/// use std::time::Duration;
/// use http::HeaderMap;
/// use retry_core::http::insert_attempt;
///
/// let mut headers = HeaderMap::new();
/// insert_attempt(&mut headers, 2, Duration::from_micros(1_999_999))?;
/// assert_eq!(headers["retry-attempt"], "2");
/// assert_eq!(headers["retry-remaining-ms"], "1999");
/// # Ok::<(), retry_core::http::NoTimeLeft>(())
/// ```
///
/// # Errors
/// Less than a millisecond is left. The request must not be sent then: its
/// answer could not be waited for, and its effect would be unknown.
pub fn insert_attempt(
    headers: &mut HeaderMap,
    number: u32,
    remaining: Duration,
) -> Result<(), NoTimeLeft> {
    let left = time_left(remaining, Duration::from_millis(1))?;
    let millis = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
    headers.insert(RETRY_ATTEMPT, HeaderValue::from(number));
    headers.insert(RETRY_REMAINING_MS, HeaderValue::from(millis));
    Ok(())
}

/// What an answer asks of the retry, whatever its status: "do not" by
/// `retry-forbidden: 1`, else the wait of its [`Retry-After`](retry_after()).
///
/// Only a `1` forbids, in any of several lines: a value that is not understood
/// does not stop an operation.
///
/// ```
/// use std::time::SystemTime;
/// use http::{HeaderMap, HeaderValue};
/// use retry_core::Hint;
/// use retry_core::http::{RETRY_FORBIDDEN, hint};
///
/// let mut headers = HeaderMap::new();
/// headers.insert(RETRY_FORBIDDEN, HeaderValue::from_static("1"));
/// assert_eq!(hint(&headers, SystemTime::now()), Some(Hint::DoNotRetry));
/// ```
pub fn hint(headers: &HeaderMap, now: SystemTime) -> Option<Hint> {
    if headers.get_all(RETRY_FORBIDDEN).iter().any(|value| value == "1") {
        return Some(Hint::DoNotRetry);
    }
    retry_after(headers, now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_replaces_the_one_before() {
        let key = IdempotencyKey::derive("payments.charge", "order-1").unwrap();
        let mut headers = HeaderMap::new();
        insert_key(&mut headers, &key.child("refund"), KeySyntax::default());
        insert_key(&mut headers, &key, KeySyntax::Bare);
        let all: Vec<_> = headers.get_all("Idempotency-Key").iter().collect();
        assert_eq!(all, ["e3c4b417-f22e-8d73-b6ed-08fd2be399ec"]);
    }

    #[test]
    fn a_received_key_is_what_the_client_chose() {
        let read = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(IDEMPOTENCY_KEY, value.parse().unwrap());
            idempotency_key(&headers)
        };
        for (value, key) in [
            (r#""order-1""#, "order-1"),
            (r#" "order 1";v=1"#, "order 1"),
            (r#""a \"b\" \\""#, r#"a "b" \"#),
            ("8e03978e-40d5-43dd-bc93-6894a57f9324", "8e03978e-40d5-43dd-bc93-6894a57f9324"),
        ] {
            assert_eq!(read(value).as_deref(), Some(key), "{value}");
        }
        for value in
            ["", r#""""#, r#"""#, r#""a"#, r#""\a""#, r#""a" b"#, "a, b", "a b", "\"a\tb\""]
        {
            assert_eq!(read(value), None, "{value}");
        }
    }

    #[test]
    fn a_received_key_comes_once_and_as_it_was_sent() {
        let mut headers = HeaderMap::new();
        assert_eq!(idempotency_key(&headers), None);
        let key = IdempotencyKey::derive("payments.charge", "order-1").unwrap();
        for syntax in [KeySyntax::Quoted, KeySyntax::Bare] {
            insert_key(&mut headers, &key, syntax);
            assert_eq!(idempotency_key(&headers), Some(key.to_string()));
        }
        headers.append(IDEMPOTENCY_KEY, "b".parse().unwrap());
        assert_eq!(idempotency_key(&headers), None);
    }

    #[test]
    fn what_is_left_is_rounded_down_and_nothing_is_not_sent() {
        let mut headers = HeaderMap::new();
        for nanos in [0, 1, 999_999] {
            let left = Duration::from_nanos(nanos);
            assert!(insert_attempt(&mut headers, 1, left).is_err(), "{nanos}");
        }
        assert!(headers.is_empty());
        assert_eq!(insert_attempt(&mut headers, u32::MAX, Duration::MAX), Ok(()));
        assert_eq!(headers[RETRY_ATTEMPT], "4294967295");
        assert_eq!(headers[RETRY_REMAINING_MS], "18446744073709551615");
        assert_eq!(insert_attempt(&mut headers, 1, Duration::from_millis(1)), Ok(()));
        assert_eq!(headers[RETRY_REMAINING_MS], "1");
    }

    #[test]
    fn only_1_forbids() {
        let mut headers = HeaderMap::new();
        for value in ["0", "", "true", "11"] {
            headers.insert(RETRY_FORBIDDEN, value.parse().unwrap());
            assert_eq!(hint(&headers, SystemTime::UNIX_EPOCH), None, "{value:?}");
        }
        headers.append(RETRY_FORBIDDEN, "1".parse().unwrap());
        assert_eq!(hint(&headers, SystemTime::UNIX_EPOCH), Some(Hint::DoNotRetry));
    }
}
