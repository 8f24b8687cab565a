//! What the macros' expansions name. Not part of the interface: it changes with
//! any release.

pub use crate::backoff::Backoff;
pub use crate::classify::Classify;
pub use crate::classify::fields::{AskedWait, FailureCode};
pub use crate::decide::Safety;
pub use crate::non_idempotent::{Guard, ReturnedFuture};
pub use crate::outcome::{Outcome, OutcomeAs, Tried, TriedAs, WrittenError, finish, finish_as};
pub use crate::policy::Policy;
pub use crate::retrier::Retrier;
pub use crate::run::{Describe, Judged, Run, Spec};
pub use crate::textual::{Chained, Probe, Silent, Textual, judged, probe};
