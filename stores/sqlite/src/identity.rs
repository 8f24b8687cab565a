//! Which file a path leads to.

use crate::place::Place;

/// A file, whatever its name is: what is written to one that was removed or replaced
/// while it was open is lost, and its log is another file's by then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity(Option<(u64, u64)>);

impl Identity {
    /// That of the file at this place now.
    #[cfg(unix)]
    pub(crate) fn at(place: &Place) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        Self(std::fs::metadata(place.path()).ok().map(|file| (file.dev(), file.ino())))
    }

    /// An open file can be neither removed nor replaced.
    #[cfg(not(unix))]
    pub(crate) const fn at(_: &Place) -> Self {
        Self(None)
    }
}
