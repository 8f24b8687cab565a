//! How the program ends.

use std::{fmt, io};

/// The exit codes. Programs rely on them: none is ever given another meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything is as it should be.
    Sound = 0,
    /// The command line or a policy is wrong.
    Usage = 2,
    /// The output could not be written.
    Output = 5,
}

/// Why a command has no answer.
#[derive(Debug)]
pub(crate) enum Error {
    /// The command line or a policy is wrong, in a clause that says what to write.
    Usage(String),
    /// The output could not be written.
    Output(io::Error),
}

impl Error {
    /// The exit code.
    pub(crate) const fn exit(&self) -> Exit {
        match self {
            Self::Usage(_) => Exit::Usage,
            Self::Output(_) => Exit::Output,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) => f.write_str(text),
            Self::Output(error) => write!(f, "the output cannot be written: {error}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::Output(error.into())
    }
}
