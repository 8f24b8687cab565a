//! What the macros' output names. Not part of the public interface.

pub use crate::run::{Describe, Run, Spec};
