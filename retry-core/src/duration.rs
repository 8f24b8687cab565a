//! Durations as text: `"1m 30s"`.
//!
//! The grammar and its texts are those of the attribute, word for word: a test
//! compares the two. A proc-macro crate can share code with nobody.

use std::time::Duration;

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
