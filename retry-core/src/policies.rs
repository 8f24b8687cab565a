//! Policies by name, for numbers that change without a new build.
//!
//! ```toml
//! [policies.gateway]
//! max_attempts = 5
//! deadline = "30s"
//! attempt_timeout = "5s"
//! hint_limit = "10s"
//! backoff = { exponential = "100ms", factor = [2, 1], cap = "20s", quantum = "1s", jitter = "equal" }
//!
//! [policies.reports]
//! max_attempts = 3
//! deadline = "1m 30s"
//! backoff = { fixed = "10s", jitter = { additive = "2s" } }
//! ```
//!
//! JSON has the same shape: `{ "policies": { "gateway": { "max_attempts": 5, … } } }`.
//!
//! | field | takes | without it |
//! |---|---|---|
//! | `max_attempts` | a number, the first attempt included | required |
//! | `deadline` | a duration | required |
//! | `attempt_timeout` | a duration | what is left of the deadline |
//! | `hint_limit` | a duration | `"60s"` |
//! | `backoff` | one of `exponential`, `linear`, `fibonacci` and `fixed` with its base, a duration; beside it `factor` (`[3, 2]` is 1.5; exponential only), `cap`, `quantum`, and `jitter`: `"equal"`, `"full"`, `"none"` or `{ additive = "50ms" }` | [`Backoff::DEFAULT`](crate::Backoff::DEFAULT) |
//!
//! A duration is text with its units, as in the attribute: `"1m 30s"`, `"250ms"`
//! ([`parse_duration`] reads one).
//! A field that is not in the table is an error, and so is a policy that cannot
//! be right; the error has the line.
//!
//! The set goes into a retrier ([`RetrierBuilder::policies`]), the name into the
//! attribute (`policy = "gateway"`) or to [`Retrier::policy`]. It is replaced as a
//! whole, while operations run, by [`Retrier::replace_policies`] and, from a file,
//! `Retrier::reload_policies`: an operation keeps the numbers that it began with,
//! and a file that cannot be used changes nothing.
//!
//! Write a new file beside the old one and rename it. A JSON file that is only
//! half there is always refused; a TOML file that ends between two lines is whole
//! to every reader, with what is missing at its default.
//!
//! [`Retrier::policy`]: crate::Retrier::policy
//! [`Retrier::replace_policies`]: crate::Retrier::replace_policies
//! [`RetrierBuilder::policies`]: crate::RetrierBuilder::policies

#[cfg(feature = "serde")]
mod duration;
mod error;
#[cfg(any(feature = "toml", feature = "json"))]
mod file;
#[cfg(feature = "serde")]
mod form;

use std::collections::BTreeMap;

use crate::policy::Policy;

#[cfg(feature = "serde")]
pub use duration::{ParseDurationError, parse_duration};
pub use error::PoliciesError;

/// A set of policies by name, each of them [valid](Policy::validate). See the
/// [module](self) for the file that one is read from.
///
/// ```
/// use std::time::Duration;
/// use retry_core::{Policies, Policy};
///
/// let policies = Policies::new()
///     .with("gateway", Policy::new(5, Duration::from_secs(30)))?
///     .with("balance", Policy::new(3, Duration::from_secs(5)))?;
/// assert_eq!(policies.names().collect::<Vec<_>>(), ["balance", "gateway"]);
/// assert_eq!(policies.get("gateway").unwrap().get_max_attempts(), 5);
///
/// let error = policies.with("gateway", Policy::new(4, Duration::from_secs(30))).unwrap_err();
/// assert_eq!(error.to_string(), "two policies are named `gateway`; rename or remove one of them");
/// # Ok::<(), retry_core::policies::PoliciesError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use]
pub struct Policies(BTreeMap<String, Policy>);

impl Policies {
    /// No policies.
    pub const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// Adds a policy.
    ///
    /// # Errors
    /// The name is empty or taken, or the policy is not valid.
    pub fn with(mut self, name: impl Into<String>, policy: Policy) -> Result<Self, PoliciesError> {
        let name = name.into();
        self.vacant(&name)?;
        if let Err(error) = policy.validate() {
            return Err(PoliciesError::Invalid { name, error });
        }
        self.0.insert(name, policy);
        Ok(self)
    }

    /// Whether a policy can be added under this name.
    fn vacant(&self, name: &str) -> Result<(), PoliciesError> {
        if name.is_empty() {
            return Err(PoliciesError::EmptyName);
        }
        if self.0.contains_key(name) {
            return Err(PoliciesError::Duplicate { name: name.to_owned() });
        }
        Ok(())
    }

    /// The policy of this name.
    pub fn get(&self, name: &str) -> Option<&Policy> {
        self.0.get(name)
    }

    /// The names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}
