//! What ties the entries of a record together.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

use super::RecordError;

/// The first 16 bytes of a SHA-256 over an entry and the checksum before it: a
/// byte that changes later, or an entry that is missing, shows.
///
/// It finds damage, not an attacker, who can compute it too.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Checksum([u8; 16]);

impl Checksum {
    /// Before the first entry.
    pub const START: Self = Self([0; 16]);

    /// From the bytes of a column.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// For a column.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// The next one: over this, the numbers of the entry, and its body.
    pub(super) fn next(self, numbers: [u64; 4], body: &str) -> Self {
        let mut hasher = Sha256::new();
        hasher.update(self.0);
        for number in numbers {
            hasher.update(number.to_be_bytes());
        }
        hasher.update(body);
        Self::of(hasher)
    }

    /// Of a text by itself.
    pub(super) fn of_text(text: &str) -> Self {
        let mut hasher = Sha256::new();
        hasher.update(text);
        Self::of(hasher)
    }

    fn of(hasher: Sha256) -> Self {
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&hasher.finalize()[..16]);
        Self(bytes)
    }
}

/// 32 hex digits.
impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Checksum({self})")
    }
}

impl FromStr for Checksum {
    type Err = RecordError;

    fn from_str(text: &str) -> Result<Self, RecordError> {
        let mut bytes = [0; 16];
        hex(text, &mut bytes)
            .map(|()| Self(bytes))
            .ok_or_else(|| RecordError::not("a checksum", text))
    }
}

/// Reads exactly as many lower-case hex digits as the bytes need.
pub(super) fn hex(text: &str, bytes: &mut [u8]) -> Option<()> {
    let digits = text.as_bytes();
    let digit = |at: usize| match digits[at] {
        digit @ b'0'..=b'9' => Some(digit - b'0'),
        digit @ b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    if digits.len() != bytes.len() * 2 {
        return None;
    }
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = digit(2 * at)? << 4 | digit(2 * at + 1)?;
    }
    Some(())
}
