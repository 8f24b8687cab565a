//! Policies as serde reads and writes them: a map from names.

use std::fmt;

use serde::de::{DeserializeSeed, Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Policies;
use crate::policy::Policy;
use crate::policy::form::PolicyVisitor;

/// A map from names to policies: what stands under `policies` in a file, for a
/// field of one's own configuration.
///
/// ```
/// # #[cfg(feature = "json")] {
/// #[derive(serde::Deserialize)]
/// struct Config {
///     address: String,
///     retries: retry_core::Policies,
/// }
///
/// let config: Config = serde_json::from_str(r#"{
///     "address": "gateway:443",
///     "retries": { "gateway": { "max_attempts": 5, "deadline": "30s" } }
/// }"#)?;
/// assert!(config.retries.get("gateway").is_some());
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl<'de> Deserialize<'de> for Policies {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ByName)
    }
}

/// As it is read, in the order of the names.
impl Serialize for Policies {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

struct ByName;

impl<'de> Visitor<'de> for ByName {
    type Value = Policies;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("policies by name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Policies, A::Error> {
        let mut policies = Policies::new();
        while let Some(name) = map.next_key::<String>()? {
            let policy = map.next_value_seed(Named { name: &name, before: &policies })?;
            policies.0.insert(name, policy);
        }
        Ok(policies)
    }
}

/// One entry. JSON allows a key twice, and a map would keep the last. It is
/// refused where the value stands, because a format knows the place of that.
struct Named<'a> {
    name: &'a str,
    before: &'a Policies,
}

impl<'de> DeserializeSeed<'de> for Named<'_> {
    type Value = Policy;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Policy, D::Error> {
        self.before.vacant(self.name).map_err(D::Error::custom)?;
        PolicyVisitor { name: Some(self.name) }.deserialize(deserializer)
    }
}
