//! What is wrong with the resources of a retrier.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use crate::breaker::BreakerError;

/// A resource that a retrier cannot hold. The text names it and the fix.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ResourceError {
    /// It has no name.
    NoName,
    /// The retrier has one of this name already.
    TwoOfOneName(Arc<str>),
    /// The default is none of those that the retrier has.
    Unknown {
        /// The name.
        name: Arc<str>,
        /// The names that there are, sorted.
        known: Vec<Arc<str>>,
    },
    /// The breaker of the resource of this name cannot be built.
    Breaker(Arc<str>, BreakerError),
}

impl fmt::Display for ResourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoName => f.write_str(
                "the name of a resource is empty; give it the one that operations name it by",
            ),
            Self::TwoOfOneName(name) => write!(
                f,
                "the retrier has a resource `{}` already; name each one once",
                name.escape_debug()
            ),
            Self::Unknown { name, known } if known.is_empty() => write!(
                f,
                "`{}` cannot be the default, because the retrier has no resource yet; \
                 add it first with `resource`",
                name.escape_debug()
            ),
            Self::Unknown { name, known } => {
                let known: Vec<_> =
                    known.iter().map(|name| format!("`{}`", name.escape_debug())).collect();
                let (name, known) = (name.escape_debug(), known.join(", "));
                write!(
                    f,
                    "`{name}` cannot be the default, because the retrier has no such resource; \
                     it has {known}"
                )
            }
            Self::Breaker(name, error) => write!(f, "resource `{}`: {error}", name.escape_debug()),
        }
    }
}

impl Error for ResourceError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Breaker(_, error) => Some(error),
            _ => None,
        }
    }
}
