//! What the macros' expansions name. Not part of the interface: it changes with
//! any release.

pub use crate::classify::fields::{AskedWait, FailureCode};
pub use crate::non_idempotent::{Guard, ReturnedFuture};
pub use crate::run::{Describe, Run, Spec};
