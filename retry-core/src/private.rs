//! What the macros' expansions name. Not part of the interface: it changes with
//! any release.

pub use crate::backoff::Backoff;
pub use crate::classify::fields::{AskedWait, FailureCode, Field, HoldsOther, HoldsStop};
// By a name that no author has imported: `unused_qualifications` would compare.
pub use crate::classify::Classify as Classified;
pub use crate::classify::{Classify, Verdict};
pub use crate::decide::OnRefusal;
#[cfg(feature = "durable")]
pub use crate::durable::{Argument, DurableRun, Given, Kept};
pub use crate::judge::{Describe, Judged, accept, by_trait};
pub use crate::non_idempotent::{Guard, ReturnedFuture};
pub use crate::outcome::{
    Known, Outcome, OutcomeAs, Return, ReturnAs, Unknown, WrittenError, WrittenErrorAs, finish,
    finish_as,
};
pub use crate::policy::Policy;
pub use crate::retrier::Retrier;
pub use crate::run::{LookedUp, Run, Spec};
pub use crate::safety::Safety;
pub use crate::textual::{Probe, Silent, Textual, judged, probe, rejected};
