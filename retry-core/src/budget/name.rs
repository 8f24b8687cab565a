//! The name under which a caller is kept: bounded, for it may come from a request.

use std::borrow::Cow;
use std::fmt::Write as _;

use sha2::{Digest, Sha256};

/// Names up to so many bytes are kept as they are.
const KEPT: usize = 256;

/// The name itself, or of a longer one the beginning and the SHA-256 of it all.
/// That is longer than any name that is kept, so no name is taken for another.
pub(super) fn known_as(name: &str) -> Cow<'_, str> {
    if name.len() <= KEPT {
        return Cow::Borrowed(name);
    }
    let end = (0..=KEPT).rev().find(|&end| name.is_char_boundary(end)).unwrap_or(0);
    let mut known = format!("{}#", &name[..end]);
    for byte in Sha256::digest(name) {
        // A string takes all that is written to it.
        let _ = write!(known, "{byte:02x}");
    }
    Cow::Owned(known)
}

#[cfg(all(test, not(retry_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_is_kept_as_its_beginning_and_its_digest() {
        let longest = "x".repeat(256);
        for kept in ["", "payments.charge", "\u{202e}\u{0}é🦀", &longest] {
            assert_eq!(known_as(kept), kept);
        }
        // printf 'x%.0s' $(seq 257) | sha256sum
        let digest = "15eb95a462ee20bd91a415ae2d4aed341288186ddaa2b37908f7d592f0c3f85f";
        assert_eq!(known_as(&"x".repeat(257)), format!("{longest}#{digest}"));
        // Cut between two characters.
        let crabs = known_as(&"🦀".repeat(1 << 20)).into_owned();
        assert_eq!(crabs.len(), 256 + 1 + 64);
        let shifted = known_as(&format!("a{}", "🦀".repeat(99))).into_owned();
        assert_eq!(shifted.len(), 253 + 1 + 64);
        // Nobody is known by another's kept form.
        assert_ne!(known_as(&shifted), shifted);
    }
}
