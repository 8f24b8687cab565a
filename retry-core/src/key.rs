//! Idempotency keys: what lets the other side see that two calls are one.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

/// A key that names one logical call, the same on every attempt, host and
/// restart. Sixteen bytes, shown and parsed as a UUID.
///
/// `#[retryable(name = "payments.charge", key = order.id)]` derives it from the
/// operation's name and the author's value and binds it as `key` in the body.
/// It holds no personal data: it is a hash (UUID version 8, RFC 9562) of what
/// it was made from.
///
/// ```
/// use retry_core::IdempotencyKey;
///
/// let key = IdempotencyKey::derive("payments.charge", "order-1")?;
/// assert_eq!(key.to_string(), "e3c4b417-f22e-8d73-b6ed-08fd2be399ec");
/// assert_eq!("e3c4b417-f22e-8d73-b6ed-08fd2be399ec".parse(), Ok(key));
/// # Ok::<(), retry_core::key::EmptyKey>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdempotencyKey([u8; 16]);

impl IdempotencyKey {
    /// The key of `key` for the operation `name`: the first 16 bytes of
    /// SHA-256 over `retry idempotency key v1`, the name and the key, each
    /// preceded by its length as a big-endian `u64`.
    ///
    /// # Errors
    /// An empty key names every call alike, and is refused.
    pub fn derive(name: &str, key: &str) -> Result<Self, EmptyKey> {
        if key.is_empty() {
            return Err(EmptyKey);
        }
        Ok(Self::hash(["retry idempotency key v1", name, key]))
    }

    /// A further key for a second effect of the same operation.
    ///
    /// Never send one key to two endpoints: each would answer with what it
    /// stored for the other call, or refuse.
    ///
    /// ```
    /// # use retry_core::IdempotencyKey;
    /// let key = IdempotencyKey::derive("payments.charge", "order-1")?;
    /// let refund = key.child("refund");
    /// assert_eq!(refund.to_string(), "083a7084-8ec1-8fd2-89e4-ee0bf1c6438c");
    /// # Ok::<(), retry_core::key::EmptyKey>(())
    /// ```
    pub fn child(&self, label: &str) -> Self {
        let mut text = [0; TEXT_LEN];
        Self::hash(["retry idempotency key v1 child", self.text(&mut text), label])
    }

    /// Stands for a key that could not be derived, and is never seen.
    pub(crate) const NIL: Self = Self([0; 16]);

    /// The sixteen bytes.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    fn hash(parts: [&str; 3]) -> Self {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update((part.len() as u64).to_be_bytes());
            hasher.update(part);
        }
        let digest = hasher.finalize();
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&digest[..16]);
        bytes[6] = bytes[6] & 0x0f | 0x80;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        Self(bytes)
    }

    /// Writes the text form without a formatter: the hot path hashes it.
    pub(crate) fn text<'a>(&self, buffer: &'a mut [u8; TEXT_LEN]) -> &'a str {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut at = 0;
        for (index, byte) in self.0.iter().enumerate() {
            if matches!(index, 4 | 6 | 8 | 10) {
                buffer[at] = b'-';
                at += 1;
            }
            buffer[at] = DIGITS[usize::from(byte >> 4)];
            buffer[at + 1] = DIGITS[usize::from(byte & 15)];
            at += 2;
        }
        // Every byte written above is ASCII.
        std::str::from_utf8(buffer).unwrap_or_default()
    }
}

/// Length of a key as text: 32 digits and 4 hyphens.
pub(crate) const TEXT_LEN: usize = 36;

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.text(&mut [0; TEXT_LEN]))
    }
}

impl fmt::Debug for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IdempotencyKey({self})")
    }
}

/// Reads the hyphenated form of any UUID, in either case: a key that a caller
/// hands in may be of another version.
impl FromStr for IdempotencyKey {
    type Err = ParseKeyError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParseKeyError(text.chars().take(ParseKeyError::SHOWN).collect());
        let digits = text.as_bytes();
        if digits.len() != TEXT_LEN || [8, 13, 18, 23].iter().any(|&at| digits[at] != b'-') {
            return Err(error());
        }
        let mut bytes = [0; 16];
        let mut at = 0;
        for byte in &mut bytes {
            if digits[at] == b'-' {
                at += 1;
            }
            let high = hex(digits[at]).ok_or_else(error)?;
            let low = hex(digits[at + 1]).ok_or_else(error)?;
            *byte = high << 4 | low;
            at += 2;
        }
        Ok(Self(bytes))
    }
}

/// As text.
#[cfg(feature = "serde")]
impl serde::Serialize for IdempotencyKey {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.text(&mut [0; TEXT_LEN]))
    }
}

/// From text.
#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for IdempotencyKey {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'_, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

fn hex(digit: u8) -> Option<u8> {
    // `to_digit(16)` is below 16.
    char::from(digit).to_digit(16).map(|value| value as u8)
}

/// The key is empty, and would name every call alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmptyKey;

impl fmt::Display for EmptyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the idempotency key is empty; give each logical call a value of its own")
    }
}

impl std::error::Error for EmptyKey {}

/// The text is not an idempotency key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseKeyError(String);

impl ParseKeyError {
    /// How much of a wrong text is worth repeating.
    const SHOWN: usize = 64;
}

impl fmt::Display for ParseKeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is not an idempotency key; expected the 36 characters of a hyphenated UUID",
            self.0.escape_debug()
        )
    }
}

impl std::error::Error for ParseKeyError {}

/// What can stand behind `key =` in the attribute: strings, integers up to 128
/// bits, UUIDs (feature `uuid`), an [`IdempotencyKey`] that a caller hands
/// down, and your own types.
///
/// ```
/// use retry_core::IdempotencyKey;
/// use retry_core::key::{EmptyKey, ToKey};
///
/// struct OrderId { shop: u32, number: u64 }
///
/// impl ToKey for OrderId {
///     fn to_key(&self, operation: &str) -> Result<IdempotencyKey, EmptyKey> {
///         format!("{}/{}", self.shop, self.number).to_key(operation)
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an idempotency key",
    label = "expected a string, an integer, a UUID or an `IdempotencyKey`",
    note = "for a type of your own, implement `retry_core::key::ToKey`"
)]
pub trait ToKey {
    /// The key of this value for the operation of that name.
    ///
    /// # Errors
    /// An empty value is refused.
    fn to_key(&self, operation: &str) -> Result<IdempotencyKey, EmptyKey>;
}

/// Handed down: unchanged, whatever the operation's name.
impl ToKey for IdempotencyKey {
    fn to_key(&self, _operation: &str) -> Result<IdempotencyKey, EmptyKey> {
        Ok(*self)
    }
}

impl ToKey for str {
    fn to_key(&self, operation: &str) -> Result<IdempotencyKey, EmptyKey> {
        IdempotencyKey::derive(operation, self)
    }
}

impl ToKey for String {
    fn to_key(&self, operation: &str) -> Result<IdempotencyKey, EmptyKey> {
        self.as_str().to_key(operation)
    }
}

/// Hyphenated, lower case.
#[cfg(feature = "uuid")]
impl ToKey for uuid::Uuid {
    fn to_key(&self, operation: &str) -> Result<IdempotencyKey, EmptyKey> {
        let mut buffer = uuid::Uuid::encode_buffer();
        let text: &str = self.hyphenated().encode_lower(&mut buffer);
        text.to_key(operation)
    }
}

macro_rules! integer_keys {
    ($($integer:ty),*) => {$(
        /// In decimal.
        impl ToKey for $integer {
            fn to_key(&self, operation: &str) -> Result<IdempotencyKey, EmptyKey> {
                self.to_string().to_key(operation)
            }
        }
    )*};
}
integer_keys!(i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize);

macro_rules! forwarded_keys {
    ($($pointer:ty),*) => {$(
        impl<K: ToKey + ?Sized> ToKey for $pointer {
            fn to_key(&self, operation: &str) -> Result<IdempotencyKey, EmptyKey> {
                (**self).to_key(operation)
            }
        }
    )*};
}
forwarded_keys!(&K, &mut K, Box<K>, std::rc::Rc<K>, std::sync::Arc<K>);

impl<K: ToKey + ToOwned + ?Sized> ToKey for std::borrow::Cow<'_, K> {
    fn to_key(&self, operation: &str) -> Result<IdempotencyKey, EmptyKey> {
        (**self).to_key(operation)
    }
}

#[cfg(all(test, feature = "json"))]
mod serde_tests {
    use super::*;

    #[test]
    fn a_key_is_text_in_any_format() {
        let key = IdempotencyKey::derive("payments.charge", "order-1").unwrap();
        let json = serde_json::to_string(&key).unwrap();
        assert_eq!(json, "\"e3c4b417-f22e-8d73-b6ed-08fd2be399ec\"");
        assert_eq!(serde_json::from_str::<IdempotencyKey>(&json).unwrap(), key);
        let error = serde_json::from_str::<IdempotencyKey>("\"order-1\"").unwrap_err();
        assert!(error.to_string().starts_with("`order-1` is not an idempotency key"), "{error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str, value: impl ToKey) -> String {
        value.to_key(name).unwrap().to_string()
    }

    #[test]
    fn the_published_vectors_hold() {
        let order = "order-1".to_key("payments.charge").unwrap();
        assert_eq!(order.to_string(), "e3c4b417-f22e-8d73-b6ed-08fd2be399ec");
        assert_eq!(order.child("refund").to_string(), "083a7084-8ec1-8fd2-89e4-ee0bf1c6438c");
    }

    #[test]
    fn every_form_of_one_value_gives_one_key() {
        let decimal = key("op", "42");
        assert_eq!(key("op", 42_u8), decimal);
        assert_eq!(key("op", 42_i128), decimal);
        assert_eq!(key("op", 42_usize), decimal);
        assert_eq!(key("op", std::sync::Arc::<str>::from("42")), decimal);
        assert_eq!(key("op", std::borrow::Cow::Borrowed("42")), decimal);
        assert_eq!(key("op", u128::MAX), key("op", "340282366920938463463374607431768211455"));
    }

    #[cfg(feature = "uuid")]
    #[test]
    fn a_uuid_is_its_hyphenated_lower_case_text() {
        let text = "E3C4B417F22E8D73B6ED08FD2BE399EC";
        let uuid: uuid::Uuid = text.parse().unwrap();
        assert_eq!(key("op", uuid), key("op", "e3c4b417-f22e-8d73-b6ed-08fd2be399ec"));
    }

    #[test]
    fn the_parts_cannot_run_into_each_other() {
        assert_ne!(key("ab", "c"), key("a", "bc"));
    }

    #[test]
    fn a_key_handed_down_is_unchanged() {
        let outer = "order-1".to_key("outer").unwrap();
        assert_eq!(outer.to_key("inner"), Ok(outer));
    }

    #[test]
    fn an_empty_key_is_refused() {
        assert_eq!("".to_key("op"), Err(EmptyKey));
    }

    #[test]
    fn wrong_texts_are_refused_without_panic() {
        let good = key("op", "x");
        for text in [
            "",
            "e3c4b417",
            "e3c4b417-f22e-8d73-b6ed-08fd2be399eg",
            "e3c4b417-f22e-8d73-b6ed-08fd2be399e",
            "e3c4b417-f22e-8d73-b6ed+08fd2be399ec",
            "{e3c4b417f22e8d73b6ed08fd2be399ec}--",
            "éééééééééééééééééé",
            &good.replace('-', "0"),
        ] {
            assert!(text.parse::<IdempotencyKey>().is_err(), "{text}");
        }
        assert_eq!(good.to_uppercase().parse(), good.parse::<IdempotencyKey>());
    }
}
