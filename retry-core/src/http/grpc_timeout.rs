//! `grpc-timeout`, as gRPC over HTTP/2 defines it.

use std::time::Duration;

use ::http::{HeaderMap, HeaderName, HeaderValue};

use super::digits;
use super::time_left::{NoTimeLeft, time_left};

/// `grpc-timeout`, of the request: what the caller has left, as at most 8 digits
/// and a unit (gRPC over HTTP/2, "Requests").
pub const GRPC_TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");

/// The largest number of 8 digits.
const MOST: u128 = 99_999_999;

/// In nanoseconds, the finest first.
const UNITS: [(u128, char); 6] = [
    (1, 'n'),
    (1_000, 'u'),
    (1_000_000, 'm'),
    (1_000_000_000, 'S'),
    (60 * 1_000_000_000, 'M'),
    HOUR,
];
const HOUR: (u128, char) = (3600 * 1_000_000_000, 'H');

/// Sets `grpc-timeout`, in the place of any that the request has: `remaining`,
/// or what is left around where that is less, as
/// [`insert_attempt`](super::insert_attempt) does.
///
/// It is rounded down, so that the callee does not outlive the caller: to the
/// finest unit in which 8 digits hold it, which loses least. It is written in
/// the coarsest unit that loses nothing more. What is above 99999999 hours is
/// written as that.
///
/// ```
/// use std::time::Duration;
/// use http::HeaderMap;
/// use retry_core::http::insert_grpc_timeout;
///
/// let mut headers = HeaderMap::new();
/// insert_grpc_timeout(&mut headers, Duration::from_millis(1_500))?;
/// assert_eq!(headers["grpc-timeout"], "1500m");
/// insert_grpc_timeout(&mut headers, Duration::from_nanos(1_234_567_899))?;
/// assert_eq!(headers["grpc-timeout"], "1234567u");
/// # Ok::<(), retry_core::http::NoTimeLeft>(())
/// ```
///
/// # Errors
/// Nothing is left. The request must not be sent then.
pub fn insert_grpc_timeout(headers: &mut HeaderMap, remaining: Duration) -> Result<(), NoTimeLeft> {
    let left = time_left(remaining, Duration::from_nanos(1))?;
    // Digits and a letter, which every header may hold.
    if let Ok(value) = HeaderValue::try_from(encode(left)) {
        headers.insert(GRPC_TIMEOUT, value);
    }
    Ok(())
}

fn encode(left: Duration) -> String {
    let nanos = left.as_nanos();
    let (finest, _) = UNITS.into_iter().find(|(unit, _)| nanos / unit <= MOST).unwrap_or(HOUR);
    let rounded = (nanos / finest).min(MOST) * finest;
    let exact = UNITS.into_iter().rev().find(|(unit, _)| rounded.is_multiple_of(*unit));
    let (unit, letter) = exact.unwrap_or(UNITS[0]);
    format!("{}{letter}", rounded / unit)
}

/// `None` for what the grammar does not allow, but for a zero: the grammar wants
/// a positive number, and a caller that sends zero has nothing left.
pub(super) fn parse(value: &[u8]) -> Option<Duration> {
    let (unit, number) = value.split_last()?;
    if number.len() > 8 {
        return None;
    }
    let number = digits(number)?;
    Some(match unit {
        b'H' => Duration::from_secs(number * 3600),
        b'M' => Duration::from_secs(number * 60),
        b'S' => Duration::from_secs(number),
        b'm' => Duration::from_millis(number),
        b'u' => Duration::from_micros(number),
        b'n' => Duration::from_nanos(number),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_the_grammar_allows_is_read() {
        for (value, expected) in [
            ("1S", Duration::from_secs(1)),
            ("100m", Duration::from_millis(100)),
            ("99999999H", Duration::from_secs(99_999_999 * 3600)),
            ("5u", Duration::from_micros(5)),
            ("7n", Duration::from_nanos(7)),
            ("2M", Duration::from_secs(120)),
            ("00000001S", Duration::from_secs(1)),
            // Not by the grammar; its meaning is plain.
            ("0S", Duration::ZERO),
        ] {
            assert_eq!(parse(value.as_bytes()), Some(expected), "{value}");
        }
    }

    #[test]
    fn what_the_grammar_does_not_allow_is_not_read() {
        for value in [
            "100000000n",
            "000000001S",
            "-1S",
            "+1S",
            "1s",
            "1.5S",
            "S",
            "1",
            "",
            "1 S",
            " 1S",
            "1S ",
            "1µ",
            "1SS",
        ] {
            assert_eq!(parse(value.as_bytes()), None, "{value:?}");
        }
    }

    #[test]
    fn the_coarsest_unit_that_loses_nothing_is_written() {
        for (left, expected) in [
            (Duration::from_secs(1), "1S"),
            (Duration::from_millis(100), "100m"),
            (Duration::from_micros(5), "5u"),
            (Duration::from_secs(90), "90S"),
            (Duration::from_secs(120), "2M"),
            (Duration::from_secs(7200), "2H"),
            (Duration::from_nanos(99_999_999), "99999999n"),
        ] {
            assert_eq!(encode(left), expected, "{left:?}");
        }
    }

    #[test]
    fn what_8_digits_do_not_hold_is_rounded_down() {
        for (left, expected) in [
            (Duration::from_nanos(100_000_001), "100m"),
            (Duration::from_nanos(123_456_789), "123456u"),
            (Duration::from_nanos(99_999_999_999), "99999999u"),
            (Duration::from_secs(99_999_999 * 3600 + 3599), "99999999H"),
            (Duration::MAX, "99999999H"),
        ] {
            assert_eq!(encode(left), expected, "{left:?}");
        }
    }

    #[test]
    fn nothing_left_is_not_sent() {
        let mut headers = HeaderMap::new();
        let error = insert_grpc_timeout(&mut headers, Duration::ZERO).unwrap_err();
        assert!(headers.is_empty());
        assert_eq!(
            error.to_string(),
            "less than 1ns is left of the attempt's time; the request was not sent"
        );
        assert_eq!(insert_grpc_timeout(&mut headers, Duration::from_nanos(1)), Ok(()));
        assert_eq!(headers[GRPC_TIMEOUT], "1n");
    }

    proptest! {
        #[test]
        fn what_is_read_is_never_more_than_was_left(secs: u64, nanos in 0..1_000_000_000_u32) {
            // Of every magnitude.
            let left = Duration::new(secs >> (nanos % 64), nanos).max(Duration::from_nanos(1));
            let text = encode(left);
            let read = parse(text.as_bytes()).unwrap();
            prop_assert!(Duration::ZERO < read && read <= left, "{left:?} as {text}");
            // And five digits hold, where 8 can say it.
            if left < Duration::from_secs(99_999_999) {
                prop_assert!((left - read).as_nanos() <= left.as_nanos() / 100_000, "{left:?} as {text}");
            }
        }
    }
}
