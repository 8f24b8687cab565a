//! A policy as serde reads and writes it: in text, and valid.

use std::fmt;
use std::time::Duration;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, DeserializeSeed, MapAccess, Visitor};
use serde::ser;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Policy, PolicyError};
use crate::backoff::{Backoff, Curve, Jitter};
use crate::duration;
use crate::policy::message::Message;

/// As in a file: `max_attempts` and `deadline`, and beside them
/// `attempt_timeout`, `hint_limit` and `backoff`. Durations are text, `"1m 30s"`.
///
/// The policy is [valid](Policy::validate). A number that cannot be right is an
/// error of the format, which gives it the line. So is a field that no policy
/// has.
///
/// ```
/// # #[cfg(feature = "json")] {
/// use retry_core::Policy;
///
/// let policy: Policy = serde_json::from_str(r#"{
///     "max_attempts": 5,
///     "deadline": "30s",
///     "backoff": { "exponential": "250ms", "cap": "10s", "jitter": "full" }
/// }"#)?;
/// assert_eq!(policy.get_max_attempts(), 5);
///
/// let error = serde_json::from_str::<Policy>(r#"{ "max_attempts": 5, "deadline": 30 }"#);
/// assert_eq!(error.unwrap_err().to_string(), "`30` has no unit; write \"30s\" at line 1 column 35");
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl<'de> Deserialize<'de> for Policy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        PolicyVisitor { name: None }.deserialize(deserializer)
    }
}

/// As it is read, defaults left out. A backoff by a function
/// ([`Backoff::custom`]) has no text, and is an error.
impl Serialize for Policy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let form = PolicyForm {
            max_attempts: Some(self.max_attempts),
            deadline: Some(Text(self.get_deadline())),
            attempt_timeout: self.get_attempt_timeout().map(Text),
            hint_limit: Some(Text(self.get_hint_limit())),
            backoff: Some(self.backoff),
        };
        form.serialize(serializer)
    }
}

/// The bounds are optional here only: what is missing is said in full.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct PolicyForm {
    max_attempts: Option<u32>,
    deadline: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt_timeout: Option<Text>,
    hint_limit: Option<Text>,
    backoff: Option<Backoff>,
}

const POLICY_FIELDS: &[&str] =
    &["max_attempts", "deadline", "attempt_timeout", "hint_limit", "backoff"];

impl PolicyForm {
    fn policy<E: de::Error>(self) -> Result<Policy, E> {
        let Self { max_attempts, deadline, attempt_timeout, hint_limit, backoff } = self;
        let (max_attempts, Text(deadline)) = match (max_attempts, deadline) {
            (Some(max_attempts), Some(deadline)) => (max_attempts, deadline),
            (None, Some(_)) => return Err(unbounded("`max_attempts`")),
            (Some(_), None) => return Err(unbounded("`deadline`")),
            (None, None) => return Err(unbounded("`max_attempts` and `deadline`")),
        };
        let mut policy = Policy::new(max_attempts, deadline);
        if let Some(Text(timeout)) = attempt_timeout {
            policy = policy.attempt_timeout(timeout);
        }
        if let Some(Text(limit)) = hint_limit {
            policy = policy.hint_limit(limit);
        }
        if let Some(backoff) = backoff {
            policy = policy.backoff(backoff);
        }
        policy.validate().map(|()| policy).map_err(E::custom)
    }
}

fn unbounded<E: de::Error>(missing: &str) -> E {
    E::custom(format_args!("an operation is bounded in attempts and in time: add {missing}"))
}

/// Judges inside the visitor: there, the format still knows the place.
pub(crate) struct PolicyVisitor<'a> {
    /// What is wrong with the policy as a whole is said of this name.
    pub(crate) name: Option<&'a str>,
}

impl<'de> DeserializeSeed<'de> for PolicyVisitor<'_> {
    type Value = Policy;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Policy, D::Error> {
        deserializer.deserialize_struct("Policy", POLICY_FIELDS, self)
    }
}

impl<'de> Visitor<'de> for PolicyVisitor<'_> {
    type Value = Policy;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a policy with `max_attempts` and `deadline`")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Policy, A::Error> {
        let form = PolicyForm::deserialize(MapAccessDeserializer::new(map))?;
        let Some(name) = self.name else {
            return form.policy();
        };
        // Not the format's own error yet, whose text has a place.
        form.policy::<de::value::Error>()
            .map_err(|error| de::Error::custom(format_args!("policy `{name}`: {error}")))
    }
}

/// As in a file: `exponential`, `linear`, `fibonacci` or `fixed` with the base,
/// and beside it `factor = [3, 2]`, `cap`, `quantum` and `jitter`.
impl<'de> Deserialize<'de> for Backoff {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_struct("Backoff", BACKOFF_FIELDS, BackoffVisitor)
    }
}

/// As it is read. One by a function ([`Backoff::custom`]) has no text, and is an
/// error.
impl Serialize for Backoff {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let base = Some(Text(self.base().duration()));
        let mut form = BackoffForm {
            cap: self.written_cap().map(|cap| Text(cap.duration())),
            quantum: Some(self.quantum_nanos())
                .filter(|quantum| !quantum.is_zero())
                .map(|quantum| Text(quantum.duration())),
            jitter: Some(self.get_jitter()),
            ..BackoffForm::default()
        };
        match self.curve() {
            Curve::Exponential => form.exponential = base,
            Curve::Factor(numerator, denominator) => {
                form.exponential = base;
                form.factor = Some(Ratio(numerator, denominator));
            }
            Curve::Linear => form.linear = base,
            Curve::Fibonacci => form.fibonacci = base,
            Curve::Fixed => form.fixed = base,
            Curve::Custom(_) => {
                return Err(ser::Error::custom(
                    "a backoff by a function (`Backoff::custom`) cannot be written as text; \
                     use `exponential`, `linear`, `fibonacci` or `fixed`",
                ));
            }
            Curve::Misplaced(numerator, denominator) => {
                let error = PolicyError::MisplacedFactor { numerator, denominator };
                return Err(ser::Error::custom(error));
            }
        }
        form.serialize(serializer)
    }
}

#[derive(Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct BackoffForm {
    #[serde(skip_serializing_if = "Option::is_none")]
    exponential: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    linear: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fibonacci: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fixed: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    factor: Option<Ratio>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cap: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    quantum: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    jitter: Option<Jitter>,
}

#[derive(Deserialize, Serialize)]
#[serde(expecting = "a ratio of two whole numbers, as in `[3, 2]`")]
struct Ratio(u32, u32);

const BACKOFF_FIELDS: &[&str] =
    &["exponential", "linear", "fibonacci", "fixed", "factor", "cap", "quantum", "jitter"];

impl BackoffForm {
    fn backoff<E: de::Error>(self) -> Result<Backoff, E> {
        let curves = [
            ("exponential", self.exponential.map(|Text(base)| Backoff::exponential(base))),
            ("linear", self.linear.map(|Text(base)| Backoff::linear(base))),
            ("fibonacci", self.fibonacci.map(|Text(base)| Backoff::fibonacci(base))),
            ("fixed", self.fixed.map(|Text(base)| Backoff::fixed(base))),
        ];
        let mut given = curves.into_iter().filter_map(|(name, curve)| Some((name, curve?)));
        let mut backoff = match (given.next(), given.next()) {
            (Some((_, backoff)), None) => backoff,
            (Some((first, _)), Some((second, _))) => {
                return Err(E::custom(format_args!(
                    "`{first}` and `{second}` exclude each other; remove one of them"
                )));
            }
            (None, _) => {
                return Err(E::custom(
                    "a backoff says how its waits grow: add `exponential`, `linear`, `fibonacci` or \
                     `fixed`, as in `exponential = \"100ms\"`",
                ));
            }
        };
        if let Some(Ratio(numerator, denominator)) = self.factor {
            backoff = backoff.factor(numerator, denominator);
        }
        if let Some(Text(cap)) = self.cap {
            backoff = backoff.cap(cap);
        }
        if let Some(Text(quantum)) = self.quantum {
            backoff = backoff.quantum(quantum);
        }
        if let Some(jitter) = self.jitter {
            backoff = backoff.jitter(jitter);
        }
        backoff.validate().map(|()| backoff).map_err(|error| match error {
            // As it is written here, and not in code.
            PolicyError::Factor { numerator, denominator } => E::custom(format_args!(
                "factor [{numerator}, {denominator}] must be at least 1 and its numerator at most \
                 1000; write 3/2 as `[3, 2]`"
            )),
            PolicyError::MisplacedFactor { .. } => E::custom(
                "`factor` has no meaning here; only an `exponential` backoff grows by a factor",
            ),
            error => E::custom(error),
        })
    }
}

struct BackoffVisitor;

impl<'de> Visitor<'de> for BackoffVisitor {
    type Value = Backoff;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a backoff, as in `{ exponential = \"100ms\", cap = \"20s\" }`")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Backoff, A::Error> {
        BackoffForm::deserialize(MapAccessDeserializer::new(map))?.backoff()
    }
}

/// As in a file: `"equal"`, `"full"`, `"none"` or `{ additive = "50ms" }`.
impl<'de> Deserialize<'de> for Jitter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match JitterForm::deserialize(deserializer)? {
            JitterForm::Equal => Self::Equal,
            JitterForm::Full => Self::Full,
            JitterForm::None => Self::None,
            JitterForm::Additive(Text(most)) => Self::Additive(most),
        })
    }
}

/// As it is read.
impl Serialize for Jitter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let form = match *self {
            Self::Equal => JitterForm::Equal,
            Self::Full => JitterForm::Full,
            Self::None => JitterForm::None,
            Self::Additive(most) => JitterForm::Additive(Text(most)),
        };
        form.serialize(serializer)
    }
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum JitterForm {
    Equal,
    Full,
    None,
    Additive(Text),
}

/// A duration as text: `"1m 30s"`.
struct Text(Duration);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // A format that is asked for text would refuse a number before the
        // visitor can say how to write it.
        deserializer.deserialize_any(TextVisitor)
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(Message::new().duration(self.0).as_str())
    }
}

struct TextVisitor;

impl Visitor<'_> for TextVisitor {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a duration, as in \"30s\" or \"1m 30s\"")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Text, E> {
        duration::parse(text).map(Text).map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Text, E> {
        Err(E::custom(duration::no_unit(&number.to_string())))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Text, E> {
        match u64::try_from(number) {
            Ok(number) => self.visit_u64(number),
            Err(_) => Err(E::custom(
                "a duration is not negative; expected one as in \"30s\" or \"1m 30s\"",
            )),
        }
    }
}
