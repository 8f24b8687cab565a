//! `Retry-After` (RFC 9110, section 10.2.3).

use std::time::{Duration, SystemTime};

use ::http::{HeaderMap, header};
use jiff::civil::DateTime;
use jiff::fmt::strtime::{self, BrokenDownTime};
use jiff::tz::Offset;
use jiff::{Timestamp, ToSpan};

use super::digits;
use crate::hint::Hint;

/// The wait that the `Retry-After` lines of an answer ask for; `None` where
/// there is none that can be read.
///
/// `now` is when the answer was received. Of several lines the longest wait
/// counts: more than one is an error of the other side's, and the shorter one
/// may be too short. Lines that cannot be read are passed over.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use http::{HeaderMap, HeaderValue, header};
/// use retry_core::Hint;
/// use retry_core::http::retry_after;
///
/// let mut headers = HeaderMap::new();
/// headers.insert(header::RETRY_AFTER, HeaderValue::from_static("120"));
/// let wait = Hint::Wait(Duration::from_secs(120));
/// assert_eq!(retry_after(&headers, SystemTime::now()), Some(wait));
/// ```
pub fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Hint> {
    headers
        .get_all(header::RETRY_AFTER)
        .iter()
        .filter_map(|value| parse_retry_after(value.as_bytes(), now))
        .max()
        .map(Hint::Wait)
}

/// The wait that one `Retry-After` value asks for, from `now` on.
///
/// A value is either a number of seconds (digits only; one that is too large
/// saturates) or a date in one of the three forms of RFC 9110, section 5.6.7:
///
/// - `Sun, 06 Nov 1994 08:49:37 GMT`, the only one that may be sent;
/// - `Sunday, 06-Nov-94 08:49:37 GMT`, where a year that seems more than 50
///   years ahead of `now` is the last one with those two digits;
/// - `Sun Nov  6 08:49:37 1994`.
///
/// A date that has passed is a wait of zero. Everything else is `None`: signs,
/// fractions, units, lists, other white space or letter case, zones other than
/// GMT, a weekday that is not the date's. A leap second, `:60`, is the second
/// after `:59`.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use retry_core::http::parse_retry_after;
///
/// // Sun, 06 Nov 1994 08:49:37 GMT
/// let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
/// let ten = Some(Duration::from_secs(10));
/// assert_eq!(parse_retry_after(b"10", now), ten);
/// assert_eq!(parse_retry_after(b"Sun, 06 Nov 1994 08:49:47 GMT", now), ten);
/// assert_eq!(parse_retry_after(b"Sunday, 06-Nov-94 08:49:47 GMT", now), ten);
/// assert_eq!(parse_retry_after(b"Sun Nov  6 08:49:47 1994", now), ten);
/// assert_eq!(parse_retry_after(b"+10", now), None);
/// ```
pub fn parse_retry_after(value: &[u8], now: SystemTime) -> Option<Duration> {
    if let Some(seconds) = digits(value) {
        return Some(Duration::from_secs(seconds));
    }
    // In civil time: jiff's `Timestamp` ends a day before the year 9999 does.
    let now = Offset::UTC.to_datetime(Timestamp::try_from(now).ok()?);
    let date = http_date(std::str::from_utf8(value).ok()?, now)?;
    Some(Duration::try_from(date.duration_since(now)).unwrap_or(Duration::ZERO))
}

const IMF_FIXDATE: &str = "%a, %d %b %Y %H:%M:%S GMT";
const RFC_850: &str = "%A, %d-%b-%y %H:%M:%S GMT";
/// The day of the month is `2DIGIT / ( SP 1DIGIT )`.
const ASCTIME: [&str; 2] = ["%a %b %e %H:%M:%S %Y", "%a %b %d %H:%M:%S %Y"];

fn http_date(text: &str, now: DateTime) -> Option<DateTime> {
    // jiff knows no leap seconds and would read :60 as :59.
    let (text, leap) = match text.split_once(":60 ") {
        Some((before, after)) => (&*format!("{before}:59 {after}"), 1.second()),
        None => (text, 0.seconds()),
    };
    let date = full_year(text, IMF_FIXDATE)
        .or_else(|| short_year(text, now))
        .or_else(|| ASCTIME.iter().find_map(|format| full_year(text, format)))?;
    Some(date.saturating_add(leap))
}

fn full_year(text: &str, format: &str) -> Option<DateTime> {
    let date = BrokenDownTime::parse(format, text).ok()?.to_datetime().ok()?;
    is_written_as(date, format, text).then_some(date)
}

/// The last date with these two digits that is at most 50 years ahead of now.
fn short_year(text: &str, now: DateTime) -> Option<DateTime> {
    let mut parsed = BrokenDownTime::parse(RFC_850, text).ok()?;
    // It was checked against the century that jiff supposes.
    parsed.set_weekday(None);
    let year = parsed.year()?.rem_euclid(100);

    let latest = now.saturating_add(50.years());
    let century = latest.year() - latest.year().rem_euclid(100);
    let date = [century + year, century + year - 100].into_iter().find_map(|year| {
        parsed.set_year(Some(year)).ok()?;
        parsed.to_datetime().ok().filter(|date| *date <= latest)
    })?;
    is_written_as(date, RFC_850, text).then_some(date)
}

/// jiff reads more than the grammar allows (any case, any white space, one
/// digit for two, signs), but writes exactly what the grammar says.
fn is_written_as(date: DateTime, format: &str, text: &str) -> bool {
    date.year() >= 0 && strtime::format(format, date).is_ok_and(|written| written == text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: &str = "Sun, 06 Nov 1994 08:49:37 GMT";

    fn at(rfc3339: &str) -> SystemTime {
        rfc3339.parse::<Timestamp>().unwrap().try_into().unwrap()
    }

    fn now() -> SystemTime {
        at("1994-11-06T08:49:37Z")
    }

    fn seconds(value: &str) -> Option<u64> {
        parse_retry_after(value.as_bytes(), now()).map(|wait| wait.as_secs())
    }

    fn lines(values: &[&'static str]) -> Option<Hint> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::RETRY_AFTER, value.parse().unwrap());
        }
        retry_after(&headers, now())
    }

    #[test]
    fn h1_seconds() {
        assert_eq!(seconds("120"), Some(120));
        assert_eq!(seconds("0"), Some(0));
        assert_eq!(seconds("007"), Some(7));
    }

    #[test]
    fn h2_three_forms_of_date() {
        for date in [
            "Sun, 06 Nov 1994 08:49:47 GMT",
            "Sunday, 06-Nov-94 08:49:47 GMT",
            "Sun Nov  6 08:49:47 1994",
            "Sun Nov 06 08:49:47 1994",
        ] {
            assert_eq!(seconds(date), Some(10), "{date}");
        }
    }

    #[test]
    fn h3_a_date_that_has_passed_is_a_floor_of_zero() {
        for date in ["Sun, 06 Nov 1994 08:49:00 GMT", NOW, "Thu, 01 Jan 1970 00:00:00 GMT"] {
            assert_eq!(seconds(date), Some(0), "{date}");
        }
    }

    #[test]
    fn h4_what_is_neither_is_no_hint() {
        for value in
            ["-5", "+5", "1.5", "1e3", "0x10", "", "soon", "5, 10", "5s", "١٢", " 5", "5 ", "1_000"]
        {
            assert_eq!(seconds(value), None, "{value:?}");
        }
        assert_eq!(parse_retry_after(b"\xff\xfe", now()), None);
    }

    #[test]
    fn h4_a_date_is_written_exactly_as_the_grammar_says() {
        for value in [
            "sun, 06 Nov 1994 08:49:47 GMT",
            "SUN, 06 Nov 1994 08:49:47 GMT",
            "Sun, 06 nov 1994 08:49:47 GMT",
            "Sun, 06 Nov 1994 08:49:47 gmt",
            "Sun, 06 Nov 1994 08:49:47 UTC",
            "Sun, 06 Nov 1994 08:49:47 +0000",
            "Sun, 06 Nov 1994 08:49:47",
            "Sun, 6 Nov 1994 08:49:47 GMT",
            "Sun,  06 Nov 1994 08:49:47 GMT",
            "Sun,06 Nov 1994 08:49:47 GMT",
            "Sun, 06 Nov 1994 8:49:47 GMT",
            "Sun, 06 Nov 1994 08:49:47 GMT ",
            " Sun, 06 Nov 1994 08:49:47 GMT",
            "Sun, 06 Nov 94 08:49:47 GMT",
            "Sun, 06 Nov +1994 08:49:47 GMT",
            "Sun, 06 Nov -0001 08:49:47 GMT",
            "Mon, 06 Nov 1994 08:49:47 GMT",
            "Sun, 31 Feb 1994 08:49:47 GMT",
            "Sun, 06 Nov 1994 24:49:47 GMT",
            "Sun, 06 Nov 1994 08:60:47 GMT",
            "Sun, 06 Nov 1994 08:49:61 GMT",
            "Sun, 06 Nov 1994 08:49:47.5 GMT",
            "Sun, 06-Nov-94 08:49:47 GMT",
            "Sunday, 06-Nov-1994 08:49:47 GMT",
            "Sunday, 6-Nov-94 08:49:47 GMT",
            "Monday, 06-Nov-94 08:49:47 GMT",
            "sunday, 06-Nov-94 08:49:47 GMT",
            "Sun Nov 6 08:49:47 1994",
            "Sun Nov  06 08:49:47 1994",
            "Sun Nov  6 08:49:47 1994 GMT",
            "Sun Nov  6 08:49:47 94",
            "1994-11-06T08:49:47Z",
        ] {
            assert_eq!(seconds(value), None, "{value:?}");
        }
    }

    #[test]
    fn h5_a_number_that_is_too_large_saturates() {
        assert_eq!(seconds("9223372037"), Some(9_223_372_037));
        assert_eq!(seconds("18446744073709551615"), Some(u64::MAX));
        assert_eq!(seconds("18446744073709551616"), Some(u64::MAX));
        assert_eq!(seconds(&"9".repeat(400)), Some(u64::MAX));
        // What some servers send for "never".
        assert_eq!(seconds("Fri, 31 Dec 9999 23:59:59 GMT"), Some(252_618_189_022));
    }

    #[test]
    fn h6_of_two_lines_never_the_smaller() {
        let wait = |seconds| Some(Hint::Wait(Duration::from_secs(seconds)));
        assert_eq!(lines(&["5", "10"]), wait(10));
        assert_eq!(lines(&["10", "5"]), wait(10));
        assert_eq!(lines(&["Sun, 06 Nov 1994 08:49:47 GMT", "5"]), wait(10));
        assert_eq!(lines(&["soon", "5"]), wait(5));
        assert_eq!(lines(&["soon", "later"]), None);
        assert_eq!(lines(&[]), None);
    }

    #[test]
    fn a_leap_second_is_the_one_after_59() {
        let now = at("2016-12-31T23:59:50Z");
        for date in [
            "Sat, 31 Dec 2016 23:59:60 GMT",
            "Saturday, 31-Dec-16 23:59:60 GMT",
            "Sat Dec 31 23:59:60 2016",
        ] {
            let wait = parse_retry_after(date.as_bytes(), now);
            assert_eq!(wait, Some(Duration::from_secs(10)), "{date}");
        }
    }

    #[test]
    fn the_wait_for_a_date_counts_the_fraction_of_now() {
        let now = at("1994-11-06T08:49:46.750Z");
        let wait = parse_retry_after(b"Sun, 06 Nov 1994 08:49:47 GMT", now);
        assert_eq!(wait, Some(Duration::from_millis(250)));
    }

    #[test]
    fn a_short_year_is_at_most_50_years_ahead() {
        let years = |date: &str, now| {
            parse_retry_after(date.as_bytes(), now).map(|wait| wait.as_secs() / 31_556_952)
        };
        let now = at("2026-07-01T00:00:00Z");
        // 2076, 50 years ahead to the second; one second more is 1976.
        assert_eq!(years("Wednesday, 01-Jul-76 00:00:00 GMT", now), Some(50));
        assert_eq!(years("Thursday, 01-Jul-76 00:00:01 GMT", now), Some(0));
        assert_eq!(years("Wednesday, 01-Jul-76 00:00:01 GMT", now), None);
        // A fixed pivot would make this 1970.
        assert_eq!(years("Wednesday, 01-Jan-70 00:00:00 GMT", now), Some(43));
        // The next century begins tomorrow.
        let eve = at("2099-12-31T23:59:59Z");
        let wait = parse_retry_after(b"Friday, 01-Jan-00 00:00:00 GMT", eve);
        assert_eq!(wait, Some(Duration::from_secs(1)));
    }

    proptest! {
        #[test]
        fn every_instant_is_read_back_from_all_forms(
            now in 0_i64..=7_258_118_400, // to the year 2200
            ahead in 0_i64..=1_500_000_000, // 47 years
        ) {
            let date = Offset::UTC.to_datetime(Timestamp::from_second(now + ahead).unwrap());
            let now = SystemTime::UNIX_EPOCH + Duration::from_secs(now.unsigned_abs());
            for format in [IMF_FIXDATE, RFC_850, ASCTIME[0], ASCTIME[1]] {
                let text = strtime::format(format, date).unwrap();
                let wait = parse_retry_after(text.as_bytes(), now);
                prop_assert_eq!(wait, Some(Duration::from_secs(ahead.unsigned_abs())), "{}", text);
            }
        }

        #[test]
        fn bytes_never_panic_and_digits_alone_are_seconds(value: Vec<u8>) {
            let wait = parse_retry_after(&value, now());
            if value.iter().any(|byte| !byte.is_ascii_digit()) && value.len() < 24 {
                prop_assert_eq!(wait, None);
            }
        }

        /// Dates with one byte replaced: near the grammar, where panics live.
        #[test]
        fn damaged_dates_never_panic(form in 0..3_usize, at in 0..33_usize, byte: u8, now: u32) {
            let mut value = [
                NOW, "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
            ][form].as_bytes().to_vec();
            let at = at % value.len();
            value[at] = byte;
            let now = SystemTime::UNIX_EPOCH + Duration::from_secs(now.into());
            let _ = parse_retry_after(&value, now);
        }
    }

    #[test]
    fn a_clock_out_of_range_is_no_panic() {
        let far = SystemTime::UNIX_EPOCH + Duration::from_secs(1 << 62);
        assert_eq!(parse_retry_after(NOW.as_bytes(), far), None);
        assert_eq!(parse_retry_after(b"5", far), Some(Duration::from_secs(5)));
        let last = at("9999-12-30T00:00:00Z");
        let wait = parse_retry_after(b"Friday, 31-Dec-99 00:00:00 GMT", last);
        assert_eq!(wait, Some(Duration::from_secs(86_400)));
    }
}
