//! One operation, retried by a hand-written loop, by the rivals, and by us.
//!
//! Every subject calls the same [`Gateway`] with the same numbers: four
//! attempts at most, 100 ms doubled after each failure, 30 s in all, only
//! transient errors. Where a library has no deadline, it does without.

mod gateway;
mod subject;
mod subjects;

pub use gateway::{CallError, Gateway, Scenario};
pub use subject::{Ours, Subject};
pub use subjects::{HAND_UNDER_TIMEOUT, OURS, SUBJECTS};

use std::time::Duration;

/// Attempts that every subject makes at most.
const MAX_ATTEMPTS: u32 = 4;

/// The wait after the first failure; it doubles.
const BASE: Duration = Duration::from_millis(100);

/// The time that an operation has, where the subject knows deadlines.
const DEADLINE: Duration = Duration::from_secs(30);
