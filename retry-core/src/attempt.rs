//! One run of the body, as the body sees it.

use std::fmt;
use std::time::{Duration, Instant};

use crate::classify::Failure;
use crate::clock::ClockHandle;
use crate::key::IdempotencyKey;
use crate::operation_id::OperationId;
use crate::safety::Safety;

/// One run of the body: which one it is, what time it has, what came before.
///
/// Bound as `attempt` in the body by `#[retryable(attempt, …)]`; handed to the
/// closure by [`Operation::run`](crate::Operation::run).
///
/// ```
/// use std::time::Duration;
/// use retry_core::{Attempt, Stopped, retryable};
///
/// # #[derive(Debug, retry_core::Classify)] #[retry(transient)] struct Busy;
/// #[retryable(idempotent, attempt, max_attempts = 3, deadline = "5s")]
/// async fn poll() -> Result<u32, Stopped<Busy>> {
///     if attempt.is_last() {
///         return Ok(attempt.number());
///     }
///     Err(Busy)
/// }
/// ```
#[derive(Clone)]
pub struct Attempt {
    pub(crate) number: u32,
    /// Numbers before it that were given back before their body was polled.
    pub(crate) released: u32,
    pub(crate) max_attempts: u32,
    pub(crate) safety: Safety,
    /// When this attempt is cut; `None` beyond what the clock can count.
    pub(crate) cut: Option<Instant>,
    pub(crate) clock: ClockHandle,
    pub(crate) operation_id: OperationId,
    pub(crate) previous: Option<Failure>,
}

impl Attempt {
    /// The number of this attempt, from 1.
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// Whether the policy allows no attempt after this one.
    pub const fn is_last(&self) -> bool {
        self.number - self.released >= self.max_attempts
    }

    /// The time until this attempt is cut, by its own timeout or by the
    /// operation's deadline; zero when it is due.
    pub fn remaining(&self) -> Duration {
        match self.cut {
            Some(cut) => cut.saturating_duration_since(self.clock.now()),
            None => Duration::MAX,
        }
    }

    /// The operation's idempotency key, if it has one.
    pub const fn key(&self) -> Option<IdempotencyKey> {
        self.operation_id.key()
    }

    /// The id of the operation.
    pub const fn operation_id(&self) -> &OperationId {
        &self.operation_id
    }

    /// What the attempt before this one failed with; `None` on the first.
    pub const fn previous(&self) -> Option<&Failure> {
        self.previous.as_ref()
    }

    /// Why repeating the operation is safe.
    pub const fn safety(&self) -> Safety {
        self.safety
    }
}

impl fmt::Debug for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attempt")
            .field("operation_id", &format_args!("{}", self.operation_id))
            .field("number", &self.number)
            .field("max_attempts", &self.max_attempts)
            .field("previous", &self.previous)
            .finish_non_exhaustive()
    }
}
