//! Whether two calls with one key are the same call.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::RecordError;
use super::checksum::hex;

/// SHA-256 of what an operation was called with, as canonical JSON: object keys
/// sorted, nothing between the tokens. The same key with another fingerprint is
/// a mistake of the caller, and stops with
/// [`key_reused`](crate::StopReason::KeyReused).
///
/// ```
/// use retry_core::record::{Arguments, Fingerprint};
///
/// let one = Arguments::of(&serde_json::json!({ "to": "Bo", "amount": 5 }))?;
/// let same = Arguments::of(&serde_json::json!({ "amount": 5, "to": "Bo" }))?;
/// assert_eq!(one.fingerprint(), same.fingerprint());
/// assert_eq!(one.json(), r#"{"amount":5,"to":"Bo"}"#);
/// # Ok::<(), retry_core::record::RecordError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

/// The arguments of a call, as canonical JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arguments(String);

impl Arguments {
    /// Of anything that is `Serialize`.
    ///
    /// # Errors
    /// JSON cannot say it: a map whose keys are not text, a number beyond 64 bits.
    pub fn of<T: Serialize + ?Sized>(arguments: &T) -> Result<Self, RecordError> {
        let value = serde_json::to_value(arguments).map_err(|error| RecordError::Unwritable {
            what: "the arguments",
            why: error.to_string(),
        })?;
        let mut json = String::new();
        write_sorted(&value, &mut json);
        Ok(Self(json))
    }

    /// The text.
    pub fn json(&self) -> &str {
        &self.0
    }

    /// As a store has kept them.
    pub const fn from_json(json: String) -> Self {
        Self(json)
    }

    /// What they are compared by.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint(Sha256::digest(&self.0).into())
    }
}

/// Whatever order the map of the JSON library keeps.
fn write_sorted(value: &Value, json: &mut String) {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            json.push('{');
            for (index, (name, value)) in fields.into_iter().enumerate() {
                separate(index, json);
                json.push_str(&Value::from(name.as_str()).to_string());
                json.push(':');
                write_sorted(value, json);
            }
            json.push('}');
        }
        Value::Array(items) => {
            json.push('[');
            for (index, item) in items.iter().enumerate() {
                separate(index, json);
                write_sorted(item, json);
            }
            json.push(']');
        }
        plain => json.push_str(&plain.to_string()),
    }
}

fn separate(index: usize, json: &mut String) {
    if index > 0 {
        json.push(',');
    }
}

/// 64 hex digits.
impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

impl FromStr for Fingerprint {
    type Err = RecordError;

    fn from_str(text: &str) -> Result<Self, RecordError> {
        let mut bytes = [0; 32];
        hex(text, &mut bytes)
            .map(|()| Self(bytes))
            .ok_or_else(|| RecordError::not("a fingerprint", text))
    }
}

impl Serialize for Fingerprint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Fingerprint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}
