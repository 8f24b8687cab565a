//! Why a store could not do what it was asked for.

use std::fmt;
use std::time::Duration;

use crate::record::RecordError;
use crate::stop::Stop;

/// Why a store could not do what it was asked for. Nothing was written, unless a
/// variant says otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreError {
    /// The store cannot be opened.
    CannotOpen {
        /// Which: a path, an address.
        store: String,
        /// The reason, and what to do.
        why: String,
    },
    /// What is kept was made by a newer version.
    NewerSchema {
        /// Which.
        store: String,
        /// Its version.
        found: u32,
        /// The latest that this version knows.
        known: u32,
    },
    /// What is to be kept is larger than the store allows.
    TooLarge {
        /// The arguments or the result.
        what: &'static str,
        /// Its size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// There is no room left.
    Full {
        /// Which.
        store: String,
    },
    /// It cannot be written to.
    ReadOnly {
        /// Which.
        store: String,
    },
    /// Others held its lock for too long.
    Busy {
        /// Which.
        store: String,
        /// For how long it was tried.
        waited: Duration,
    },
    /// A record is damaged, cannot be read by this version, or cannot be written.
    Record(RecordError),
    /// The store was closed.
    Closed,
    /// Anything else that its system says. Whether it was written is not known.
    Failed {
        /// Which.
        store: String,
        /// In the system's words.
        why: String,
    },
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CannotOpen { store, why } => write!(f, "cannot open the store {store}: {why}"),
            Self::NewerSchema { store, found, known } => write!(
                f,
                "the store {store} has schema {found}, and this version knows schemas up to {known}; \
                 open it with the version that made it, or a later one"
            ),
            Self::TooLarge { what, bytes, limit } => write!(
                f,
                "{what} would take {bytes} bytes, over the limit of {limit}; keep a reference to what is large, \
                 or raise the store's limit"
            ),
            Self::Full { store } => {
                write!(f, "the store {store} has no room left; free some, then call again")
            }
            Self::ReadOnly { store } => {
                write!(
                    f,
                    "the store {store} cannot be written to; give this process the right to write the file and its folder"
                )
            }
            Self::Busy { store, waited } => {
                write!(f, "the store {store} was locked by others for {waited:?}; call again")
            }
            Self::Record(error) => error.fmt(f),
            Self::Closed => f.write_str("the store was closed"),
            Self::Failed { store, why } => write!(f, "the store {store} failed: {why}"),
        }
    }
}

impl std::error::Error for StoreError {}

impl Stop {
    /// What the store said, where that is why the operation stopped.
    ///
    /// ```
    /// # use retry_core::Stopped;
    /// use retry_core::store::StoreError;
    ///
    /// fn is_out_of_room(stopped: &Stopped<std::io::Error>) -> bool {
    ///     matches!(stopped.stop().store_error(), Some(StoreError::Full { .. }))
    /// }
    /// ```
    pub fn store_error(&self) -> Option<&StoreError> {
        self.cause()?.downcast_ref()
    }
}

impl From<RecordError> for StoreError {
    fn from(error: RecordError) -> Self {
        Self::Record(error)
    }
}
