//! Support for the examples.
