//! A duration by itself, for a program's own options.

use std::fmt;
use std::time::Duration;

/// Reads a duration as a file of policies and the attribute do: whole numbers, each
/// with its unit (`h`, `m`, `s`, `ms`, `us`, `ns`), the larger unit first.
///
/// # Errors
/// The text is not a duration, or one beyond 292 years.
///
/// ```
/// use std::time::Duration;
/// use retry_core::policies::parse_duration;
///
/// assert_eq!(parse_duration("1m 30s"), Ok(Duration::from_secs(90)));
/// assert_eq!(parse_duration("30").unwrap_err().to_string(), "`30` has no unit; write \"30s\"");
/// ```
pub fn parse_duration(text: &str) -> Result<Duration, ParseDurationError> {
    crate::duration::parse(text).map_err(ParseDurationError)
}

/// The text is not a duration: what is wrong, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseDurationError(String);

impl fmt::Display for ParseDurationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ParseDurationError {}
