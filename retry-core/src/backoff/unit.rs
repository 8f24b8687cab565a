//! The draw of an operation's attempt.

use sha2::{Digest, Sha256};

/// The first four bytes, big endian, of SHA-256 of `"{id}:{attempt}"`. The id
/// comes in parts, so that nobody has to join them in memory.
pub(crate) fn unit(id: &[&str], attempt: u32) -> u32 {
    let mut hasher = Sha256::new();
    for part in id {
        hasher.update(part);
    }
    hasher.update(":");
    hasher.update(decimal(attempt, &mut [0; DIGITS]));
    let digest = hasher.finalize();
    u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]])
}

/// Digits of `u32::MAX`.
const DIGITS: usize = 10;

fn decimal(mut number: u32, buffer: &mut [u8; DIGITS]) -> &[u8] {
    let mut at = DIGITS;
    loop {
        at -= 1;
        buffer[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &buffer[at..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_are_one_text() {
        assert_eq!(unit(&["flight-1"], 10), 1_166_501_401);
        assert_eq!(unit(&["fli", "ght", "-1"], 10), 1_166_501_401);
    }

    #[test]
    fn decimal_writes_every_length() {
        for number in [0, 9, 10, 4_294_967_295] {
            assert_eq!(decimal(number, &mut [0; DIGITS]), number.to_string().as_bytes());
        }
    }
}
