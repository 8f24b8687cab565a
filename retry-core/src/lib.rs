// The first definition of a link wins: in the documentation these, and elsewhere
// the README's own, which point to docs.rs.
//! [`Buffered`]: crate::observe::Buffered
//! [`Classify`]: derive@crate::Classify
//! [`Clock`]: crate::Clock
//! [`Metrics`]: crate::observe::Metrics
//! [`Observer`]: crate::Observer
//! [`Operation`]: crate::Operation
//! [`http`]: crate::http
//! [`policies`]: crate::policies
//! [`reqwest`]: crate::reqwest
//! [`retryable`]: macro@crate::retryable
//! [`within`]: crate::within()
//! [durable]: crate::guide::durable
//! [limits]: crate::guide::limits
//! [migration]: crate::guide::migration
//! [results_and_effects]: crate::guide::results_and_effects
//! [spans]: crate::observe#spans
//! [standards]: crate::guide::standards
//! [testing]: crate::guide::testing
//!
#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "serde")]
mod duration;
mod nanos;
mod sync;

pub mod clock;
mod scope;

mod attempt;
mod backoff;
pub mod classify;
mod hint;
#[cfg(feature = "http")]
pub mod http;
mod judge;
pub mod key;
mod ledger;
#[cfg(feature = "macros")]
mod macros;
mod non_idempotent;
mod operation_id;
pub mod policies;
mod policy;
#[cfg(feature = "reqwest")]
pub mod reqwest;
mod safety;
mod stop;
mod stopped;

mod decide;
mod explain;
#[cfg(any(doc, doctest, test))]
pub mod guide;
#[cfg(feature = "durable")]
pub mod record;

pub mod breaker;
pub mod budget;
pub mod observe;
mod resource;
mod retrier;
#[cfg(feature = "durable")]
pub mod store;

#[cfg(feature = "durable")]
mod durable;
mod operation;
mod outcome;
mod run;
mod switch;
mod textual;
mod within;

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;

pub use attempt::Attempt;
pub use backoff::{Backoff, Delays, Jitter};
pub use breaker::Breaker;
pub use budget::Budget;
pub use classify::{Class, Classify, Effect, Failure, Kind};
pub use clock::Clock;
pub use decide::{Decision, Deferral, OnRefusal, Refusal, Situation, Wait, decide};
pub use explain::{Explanation, PlannedAttempt, WorstCase};
pub use hint::Hint;
pub use judge::{Accept, ByTrait, Classifier, Rejecter};
pub use key::IdempotencyKey;
pub use ledger::Ledger;
pub use non_idempotent::{Marked, NonIdempotent, Repeatable};
pub use observe::Observer;
pub use operation::Operation;
pub use operation_id::OperationId;
pub use policies::Policies;
pub use policy::{Policy, PolicyError};
pub use resource::{Resource, ResourceError};
pub use retrier::{Retrier, RetrierBuilder};
pub use safety::Safety;
pub use scope::Scoped;
pub use stop::{Stop, StopReason, UnknownStopReason};
pub use stopped::{FailedAttempt, Stopped};
pub use within::{Within, within};

#[cfg(feature = "macros")]
pub use macros::{Classify, non_idempotent, retryable};
