//! The macros of `retry-core`. Nobody depends on this crate directly.
