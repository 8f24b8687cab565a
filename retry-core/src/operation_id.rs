//! What names one logical call.

use std::borrow::Cow;
use std::fmt;

use crate::backoff::unit;
use crate::key::{IdempotencyKey, TEXT_LEN};

/// The id of an operation: its delays are derived from it, its events and its
/// record carry it.
///
/// | operation | id |
/// |---|---|
/// | with a key | `{name}/{idempotency key}` |
/// | without | `{name}#{process}-{sequence}`: the process as 16 hex digits, the sequence from 1 |
///
/// Any other text can be an id too, for schedules that are made by hand.
///
/// ```
/// use retry_core::OperationId;
///
/// let id = OperationId::from("payments.charge/e3c4b417-f22e-8d73-b6ed-08fd2be399ec");
/// assert_eq!(id.name(), "payments.charge");
/// assert!(id.key().is_some());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OperationId {
    name: Cow<'static, str>,
    call: Call,
}

/// Which call of the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Call {
    Keyed(IdempotencyKey),
    Counted {
        process: u64,
        sequence: u64,
    },
    /// The name is the whole id.
    Named,
}

impl OperationId {
    /// The id of a call with a key.
    pub fn keyed(name: impl Into<Cow<'static, str>>, key: IdempotencyKey) -> Self {
        Self { name: name.into(), call: Call::Keyed(key) }
    }

    /// The id of the `sequence`-th call without a key in a process.
    pub fn counted(name: impl Into<Cow<'static, str>>, process: u64, sequence: u64) -> Self {
        Self { name: name.into(), call: Call::Counted { process, sequence } }
    }

    /// The operation's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name in the form in which it is cheap to keep.
    #[cfg(feature = "metrics")]
    pub(crate) const fn name_text(&self) -> &Cow<'static, str> {
        &self.name
    }

    /// The idempotency key, if the operation has one.
    pub const fn key(&self) -> Option<IdempotencyKey> {
        match self.call {
            Call::Keyed(key) => Some(key),
            _ => None,
        }
    }

    /// The draw of the delay after an attempt: the first four bytes, big endian, of
    /// the SHA-256 of `"{id}:{attempt}"`.
    ///
    /// ```
    /// use retry_core::OperationId;
    ///
    /// assert_eq!(OperationId::from("flight-1").unit(1), 3_393_237_682);
    /// ```
    pub fn unit(&self, attempt: u32) -> u32 {
        match self.call {
            Call::Keyed(key) => unit(&[&self.name, "/", key.text(&mut [0; TEXT_LEN])], attempt),
            Call::Counted { process, sequence } => {
                let mut buffer = [0; COUNTED_LEN];
                unit(&[&self.name, counted_text(process, sequence, &mut buffer)], attempt)
            }
            Call::Named => unit(&[&self.name], attempt),
        }
    }
}

/// Recognizes the two forms of the table; any other text is a name.
impl From<&str> for OperationId {
    fn from(text: &str) -> Self {
        parse_keyed(text)
            .or_else(|| parse_counted(text))
            .unwrap_or_else(|| Self { name: Cow::Owned(text.to_owned()), call: Call::Named })
    }
}

impl From<String> for OperationId {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl fmt::Display for OperationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.call {
            Call::Keyed(key) => write!(f, "{}/{key}", self.name),
            Call::Counted { process, sequence } => {
                let mut buffer = [0; COUNTED_LEN];
                write!(f, "{}{}", self.name, counted_text(process, sequence, &mut buffer))
            }
            Call::Named => f.write_str(&self.name),
        }
    }
}

/// `#`, 16 hex digits, `-`, up to 20 decimal digits.
const COUNTED_LEN: usize = 38;

fn counted_text(process: u64, sequence: u64, buffer: &mut [u8; COUNTED_LEN]) -> &str {
    use std::io::Write as _;
    let mut rest = &mut buffer[..];
    // The buffer holds the longest text, and the text is ASCII.
    let _ = write!(rest, "#{process:016x}-{sequence}");
    let unused = rest.len();
    std::str::from_utf8(&buffer[..COUNTED_LEN - unused]).unwrap_or_default()
}

/// Only the canonical text: the delays depend on every byte of an id.
fn parse_keyed(text: &str) -> Option<OperationId> {
    let (name, key_text) = text.rsplit_once('/')?;
    let key: IdempotencyKey = key_text.parse().ok()?;
    let id = OperationId::keyed(name.to_owned(), key);
    (key.text(&mut [0; TEXT_LEN]) == key_text).then_some(id)
}

fn parse_counted(text: &str) -> Option<OperationId> {
    let (name, call) = text.rsplit_once('#')?;
    let (process, sequence) = call.split_once('-')?;
    let process = u64::from_str_radix(process, 16).ok()?;
    let sequence = sequence.parse().ok()?;
    let same = counted_text(process, sequence, &mut [0; COUNTED_LEN])[1..] == *call;
    same.then(|| OperationId::counted(name.to_owned(), process, sequence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::ToKey;

    #[test]
    fn the_text_of_every_form_reads_back() {
        let key = "order-1".to_key("payments.charge").unwrap();
        for (id, text) in [
            (
                OperationId::keyed("payments.charge", key),
                "payments.charge/e3c4b417-f22e-8d73-b6ed-08fd2be399ec",
            ),
            (OperationId::counted("svc::balance", 0, 1), "svc::balance#0000000000000000-1"),
            (
                OperationId::counted("x", u64::MAX, u64::MAX),
                "x#ffffffffffffffff-18446744073709551615",
            ),
            (OperationId::from("flight-1"), "flight-1"),
        ] {
            assert_eq!(id.to_string(), text);
            assert_eq!(OperationId::from(text), id);
        }
    }

    #[test]
    fn a_text_that_is_not_canonical_keeps_every_byte() {
        for text in [
            "x/E3C4B417-F22E-8D73-B6ED-08FD2BE399EC",
            "x#1-1",
            "x#000000000000000g-1",
            "x#0000000000000000-01",
            "x#0000000000000000-+1",
            "x#",
            "/",
            "",
        ] {
            let id = OperationId::from(text);
            assert_eq!((id.to_string().as_str(), id.name()), (text, text));
        }
    }

    #[test]
    fn the_draw_is_the_hash_of_the_text() {
        for text in ["a/e3c4b417-f22e-8d73-b6ed-08fd2be399ec", "b#00000000000000ff-12", "flight-1"]
        {
            assert_eq!(OperationId::from(text).unit(3), unit(&[text], 3));
        }
    }
}
