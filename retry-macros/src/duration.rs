//! Durations as text: `"1m 30s"`.

use std::time::Duration;

use syn::Lit;

/// The units, the larger one first, in nanoseconds.
const UNITS: [(&str, u64); 6] = [
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// The longest duration: what the retry itself can count, 292 years. Beyond it
/// a value would be cut silently.
const LONGEST: u64 = i64::MAX as u64;

/// Reads the literal behind an option such as `deadline = "1m 30s"`.
///
/// # Errors
/// The literal is not a string, or not a duration; the message says what to
/// write instead.
pub(crate) fn from_literal(literal: &Lit) -> syn::Result<Duration> {
    let error = |message: String| Err(syn::Error::new(literal.span(), message));
    match literal {
        Lit::Str(text) => parse(&text.value()).or_else(error),
        Lit::Int(number) if number.suffix().is_empty() => error(no_unit(number.base10_digits())),
        Lit::Int(number) => {
            let text = format!("{}{}", number.base10_digits(), number.suffix());
            match parse(&text) {
                Ok(_) => error(format!("a duration is a string; write \"{text}\"")),
                Err(message) => error(message),
            }
        }
        _ => error("expected a duration, as in \"30s\" or \"1m 30s\"".to_owned()),
    }
}

/// Reads a duration: whole numbers, each with its unit, the larger unit first.
/// White space between them is free.
///
/// There are no fractions: `"1s 500ms"` says the same as `"1.5s"` and is exact
/// in every unit.
///
/// # Errors
/// One clause that says what is wrong and what to write instead.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err("expected a duration, as in \"30s\" or \"1m 30s\"".to_owned());
    }
    let mut total: u64 = 0;
    let mut last: Option<(usize, &str)> = None;
    while !rest.is_empty() {
        let (digits, after) = split_while(rest, |c| c.is_ascii_digit());
        if digits.is_empty() {
            return Err(format!("expected a number at `{}`", rest.escape_debug()));
        }
        if after.starts_with(['.', ',', '_']) {
            return Err(not_whole(rest));
        }
        let (word, next) = split_while(after.trim_start(), char::is_alphabetic);
        if word.is_empty() {
            return Err(match after.trim_start() {
                "" => no_unit(digits),
                _ if next.starts_with(|c: char| c.is_ascii_digit()) => no_unit(digits),
                other => format!("expected a unit at `{}`", other.escape_debug()),
            });
        }
        // As `Duration` prints it, with either of the two letters.
        let name = if matches!(word, "µs" | "μs") { "us" } else { word };
        let Some(rank) = UNITS.iter().position(|&(unit, _)| unit == name) else {
            return Err(unknown_unit(word));
        };
        let part = &rest[..rest.len() - next.len()];
        if let Some((_, before)) = last.filter(|&(before, _)| before >= rank) {
            return Err(format!("`{part}` after `{before}`; each unit once, the larger one first"));
        }
        total = digits
            .parse::<u64>()
            .ok()
            .and_then(|number| number.checked_mul(UNITS[rank].1))
            .and_then(|nanos| nanos.checked_add(total))
            .filter(|&nanos| nanos <= LONGEST)
            .ok_or_else(|| {
                format!(
                    "`{}` is too long; the longest duration is 292 years, \"2562047h\"",
                    text.trim()
                )
            })?;
        last = Some((rank, part));
        rest = next.trim_start();
    }
    Ok(Duration::from_nanos(total))
}

fn split_while(text: &str, belongs: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !belongs(c)).unwrap_or(text.len()))
}

pub(crate) fn no_unit(digits: &str) -> String {
    format!("`{digits}` has no unit; write \"{digits}s\"")
}

fn not_whole(rest: &str) -> String {
    let (number, _) = split_while(rest, |c| c.is_ascii_digit() || matches!(c, '.' | ',' | '_'));
    format!("`{number}` is not a whole number in digits; use a smaller unit, as in \"1s 500ms\"")
}

fn unknown_unit(word: &str) -> String {
    let mut message = format!("unknown unit `{}`; expected one of ", word.escape_debug());
    for (index, (unit, _)) in UNITS.iter().rev().enumerate() {
        message.push_str(if index == 0 { "" } else { ", " });
        message.push_str(unit);
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_units_add_up() {
        for (text, nanos) in [
            ("0s", 0),
            ("1ns", 1),
            ("250ms", 250_000_000),
            ("7us", 7_000),
            ("7µs", 7_000),
            ("7μs", 7_000),
            ("30s", 30_000_000_000),
            ("1m 30s", 90_000_000_000),
            ("1m30s", 90_000_000_000),
            (" 2 h\t5 ms ", 7_200_005_000_000),
            ("1h 1m 1s 1ms 1us 1ns", 3_661_001_001_001),
            ("007s", 7_000_000_000),
            ("9223372036854775807ns", i64::MAX as u64),
            ("2562047h", 9_223_369_200_000_000_000),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_nanos(nanos)), "{text}");
        }
    }

    #[test]
    fn every_mistake_says_what_to_write() {
        let too_long =
            |text| format!("`{text}` is too long; the longest duration is 292 years, \"2562047h\"");
        for (text, message) in [
            ("", "expected a duration, as in \"30s\" or \"1m 30s\""),
            ("  ", "expected a duration, as in \"30s\" or \"1m 30s\""),
            ("30", "`30` has no unit; write \"30s\""),
            ("1m 30", "`30` has no unit; write \"30s\""),
            ("1 30s", "`1` has no unit; write \"1s\""),
            ("30 parsecs", "unknown unit `parsecs`; expected one of ns, us, ms, s, m, h"),
            ("30S", "unknown unit `S`; expected one of ns, us, ms, s, m, h"),
            ("soon", "expected a number at `soon`"),
            ("1m soon", "expected a number at `soon`"),
            ("-5s", "expected a number at `-5s`"),
            ("+5s", "expected a number at `+5s`"),
            ("١٢s", "expected a number at `١٢s`"),
            ("1m, 30s", "expected a number at `, 30s`"),
            ("5%", "expected a unit at `%`"),
            (
                "1.5s",
                "`1.5` is not a whole number in digits; use a smaller unit, as in \"1s 500ms\"",
            ),
            ("1e3s", "unknown unit `e`; expected one of ns, us, ms, s, m, h"),
            ("30s 1m", "`1m` after `30s`; each unit once, the larger one first"),
            ("1s 1s", "`1s` after `1s`; each unit once, the larger one first"),
            ("2562048h", &too_long("2562048h")),
            ("9223372036854775808ns", &too_long("9223372036854775808ns")),
            ("99999999999999999999999s", &too_long("99999999999999999999999s")),
            ("2562047h 60m", &too_long("2562047h 60m")),
        ] {
            assert_eq!(parse(text), Err(message.to_owned()), "{text:?}");
        }
    }

    #[test]
    fn literals_that_are_not_strings_are_told_how_to_be_one() {
        for (literal, message) in [
            ("30", "`30` has no unit; write \"30s\""),
            ("30s", "a duration is a string; write \"30s\""),
            ("30parsecs", "unknown unit `parsecs`; expected one of ns, us, ms, s, m, h"),
            ("1.5", "expected a duration, as in \"30s\" or \"1m 30s\""),
            ("true", "expected a duration, as in \"30s\" or \"1m 30s\""),
        ] {
            let error = from_literal(&syn::parse_str(literal).unwrap()).unwrap_err();
            assert_eq!(error.to_string(), message, "{literal}");
        }
        let literal = syn::parse_str(r#""1m 30s""#).unwrap();
        assert_eq!(from_literal(&literal).unwrap(), Duration::from_secs(90));
    }

    /// Every text of up to five of these characters: an answer or a message,
    /// and an answer is what its parts say.
    #[test]
    fn no_text_panics() {
        const CHARACTERS: [char; 10] = ['0', '9', 'h', 'm', 's', ' ', '.', '-', 'µ', '١'];
        let mut answers = 0;
        for mut index in 0..CHARACTERS.len().pow(5) {
            let mut text = String::new();
            for _ in 0..5 {
                text.push(CHARACTERS[index % CHARACTERS.len()]);
                index /= CHARACTERS.len();
            }
            answers += usize::from(parse(&text).is_ok());
        }
        assert!(answers > 0);
    }
}
