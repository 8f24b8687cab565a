//! What a durable operation is called with, and what it answers.

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::record::{Arguments, RecordError};

/// The arguments of a call, by name, or one value in their place.
pub struct Given(Result<Value, RecordError>);

impl Given {
    /// None yet.
    pub fn new() -> Self {
        Self(Ok(Value::Object(Map::new())))
    }

    /// Adds an argument.
    pub fn argument<T>(self, name: &'static str, value: &T) -> Self
    where
        // On a line of its own: the compiler quotes it.
        T: Argument,
        T: ?Sized,
    {
        let Self(Ok(Value::Object(mut arguments))) = self else {
            return self;
        };
        Self(match value.value() {
            Ok(value) => {
                arguments.insert(name.to_owned(), value);
                Ok(Value::Object(arguments))
            }
            Err(error) => {
                Err(unwritable(format!("`{name}`: {error}; a `fingerprint` can stand in for them")))
            }
        })
    }

    /// One value in place of all of them.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Self {
        let value = value.value();
        Self(value.map_err(|error| unwritable(format!("their `fingerprint`: {error}"))))
    }

    pub(super) fn arguments(&self) -> Result<Arguments, RecordError> {
        match &self.0 {
            Ok(value) => Arguments::of(value),
            Err(error) => Err(error.clone()),
        }
    }
}

fn unwritable(why: String) -> RecordError {
    RecordError::Unwritable { what: "the arguments", why }
}

impl Default for Given {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Given").finish_non_exhaustive()
    }
}

/// An argument that can be compared with that of another call.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be compared with the argument of another call: it is not `Serialize`",
    label = "this argument is not `Serialize`",
    note = "a durable operation tells two calls with one key apart by their arguments, as JSON; \
            derive `serde::Serialize`, or write what to compare instead: `fingerprint = expr`"
)]
pub trait Argument {
    /// As JSON.
    fn value(&self) -> serde_json::Result<Value>;
}

#[diagnostic::do_not_recommend]
impl<T: Serialize + ?Sized> Argument for T {
    fn value(&self) -> serde_json::Result<Value> {
        serde_json::to_value(self)
    }
}

/// A result that a record can keep.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the result of a durable operation: it is not `Serialize` and `Deserialize`",
    label = "this result cannot be recorded",
    note = "the result is kept as JSON, and given again to the same call; \
            derive `serde::Serialize` and `serde::Deserialize`, which owns what it reads"
)]
pub trait Kept: Serialize + DeserializeOwned {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned> Kept for T {}

/// How a result is written, and read again.
pub(super) struct Form<T> {
    pub(super) write: fn(&T) -> serde_json::Result<String>,
    pub(super) read: fn(&str) -> serde_json::Result<T>,
}

impl<T: Kept> Form<T> {
    pub(super) const JSON: Self =
        Self { write: serde_json::to_string, read: |text| serde_json::from_str(text) };
}
