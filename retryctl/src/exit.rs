//! How the program ends.

use std::{fmt, io};

use retry_core::store::StoreError;

/// The exit codes. Programs rely on them: none is ever given another meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything is as it should be.
    Sound = 0,
    /// A replay differs, or a record is damaged.
    Unsound = 1,
    /// The command line or a policy is wrong.
    Usage = 2,
    /// The store cannot be opened or read, or is newer than this program.
    Store = 3,
    /// There is no such operation, or several begin like that.
    NotFound = 4,
    /// The output cannot be written.
    Output = 5,
}

/// Why a command has no answer.
#[derive(Debug)]
pub(crate) enum Error {
    /// The command line or a policy is wrong, in a clause that says what to write.
    Usage(String),
    /// The store, or one record in it.
    Store(StoreError),
    /// Records that are damaged, beside others that are not.
    Records(Vec<StoreError>),
    /// Nothing is named like that.
    NotFound(String),
    /// More than one operation begins like that.
    Ambiguous {
        /// As given.
        id: String,
        /// Some of them.
        candidates: Vec<String>,
    },
    /// The output cannot be written.
    Output(io::Error),
}

impl Error {
    /// The exit code.
    pub(crate) const fn exit(&self) -> Exit {
        match self {
            Self::Usage(_) => Exit::Usage,
            Self::Store(StoreError::Record(_)) | Self::Records(_) => Exit::Unsound,
            Self::Store(_) => Exit::Store,
            Self::NotFound(_) | Self::Ambiguous { .. } => Exit::NotFound,
            Self::Output(_) => Exit::Output,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) => f.write_str(text),
            Self::Store(error) => error.fmt(f),
            Self::Records(errors) => {
                let mut gap = "";
                errors.iter().try_for_each(|error| {
                    write!(f, "{gap}{error}")?;
                    gap = "\n";
                    Ok(())
                })
            }
            Self::NotFound(id) => write!(
                f,
                "there is no operation or record `{}`; `retryctl list` shows what there is",
                id.escape_debug()
            ),
            Self::Ambiguous { id, candidates } => {
                write!(
                    f,
                    "several operations begin with `{}`; write more of one:",
                    id.escape_debug()
                )?;
                candidates.iter().try_for_each(|candidate| write!(f, "\n  {candidate}"))
            }
            Self::Output(error) => write!(f, "the output cannot be written: {error}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

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
