//! Why policies cannot be used.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::policy::PolicyError;

/// Why a set of policies cannot be used: names the file, the line or the policy,
/// and the fix.
#[derive(Debug)]
#[non_exhaustive]
pub enum PoliciesError {
    /// A policy has no name to look it up by.
    EmptyName,
    /// Two policies have one name.
    Duplicate {
        /// The name.
        name: String,
    },
    /// A policy cannot be right.
    Invalid {
        /// The name of the policy.
        name: String,
        /// What is wrong with it.
        error: PolicyError,
    },
    /// The file cannot be read.
    Unreadable {
        /// As given.
        path: PathBuf,
        /// The system's answer.
        error: io::Error,
    },
    /// The file's extension is none that is read.
    UnknownFormat {
        /// As given.
        path: PathBuf,
    },
    /// The text is not one of policies, or one of them cannot be right.
    Malformed {
        /// The file, where the text came from one.
        path: Option<PathBuf>,
        /// From 1.
        line: usize,
        /// From 1: where the mistake begins, or in JSON where it was noticed.
        column: usize,
        /// What is wrong there, and what to write instead.
        message: String,
    },
    /// A reload found no policy at all.
    Empty,
    /// A reload failed with this; the policies in use are unchanged.
    NotReloaded(Box<PoliciesError>),
}

impl fmt::Display for PoliciesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EmptyName => {
                f.write_str("a policy's name is empty; policies are looked up by it")
            }
            Self::Duplicate { name } => {
                let name = name.escape_debug();
                write!(f, "two policies are named `{name}`; rename or remove one of them")
            }
            Self::Invalid { name, error } => {
                write!(f, "policy `{}`: {error}", name.escape_debug())
            }
            Self::Unreadable { path, error } => {
                let path = path.display();
                write!(
                    f,
                    "{path}: {error}; the policies are read from this file, which must be there and be UTF-8"
                )
            }
            Self::UnknownFormat { path } => {
                let path = path.display();
                write!(
                    f,
                    "{path}: the extension tells how a file is read: `.toml` (feature `toml`) or \
                     `.json` (feature `json`); rename the file or enable the feature"
                )
            }
            Self::Malformed { path: Some(path), line, column, message } => {
                write!(f, "{}:{line}:{column}: {message}", path.display())
            }
            Self::Malformed { path: None, line, column, message } => {
                write!(f, "line {line}, column {column}: {message}")
            }
            Self::Empty => f.write_str(
                "the file has no policy, and operations that name one would all stop; \
                 was it cut?",
            ),
            Self::NotReloaded(error) => {
                write!(f, "{error}; the policies in use are unchanged")
            }
        }
    }
}

/// Without a source: the text says all of it.
impl std::error::Error for PoliciesError {}
