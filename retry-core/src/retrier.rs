//! The handle for `with =`.

use std::fmt;
use std::sync::Arc;

use crate::clock::{Clock, ClockHandle};
use crate::observe::{Observer, Observers};

/// What operations share: the clock and the observers. Built once, cloned
/// cheaply, handed to `with =` in the attribute or to
/// [`Operation::with`](crate::Operation::with).
///
/// ```
/// use retry_core::observe::Recorder;
/// use retry_core::{Retrier, Stopped, retryable};
///
/// # #[derive(Debug, retry_core::Classify)] #[retry(transient)] struct Busy;
/// struct Prices {
///     retries: Retrier,
/// }
///
/// impl Prices {
///     #[retryable(idempotent, max_attempts = 3, deadline = "5s", with = self.retries)]
///     async fn latest(&self) -> Result<u32, Stopped<Busy>> {
///         Ok(7)
///     }
/// }
///
/// let prices = Prices { retries: Retrier::builder().observer(Recorder::new()).build() };
/// ```
#[derive(Clone)]
pub struct Retrier(Arc<Parts>);

struct Parts {
    /// `None`: the scope's clock, or the runtime's.
    clock: Option<ClockHandle>,
    observers: Observers,
}

impl Retrier {
    /// A retrier without observers, on the clock of the scope or the runtime.
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Starts a retrier.
    pub fn builder() -> RetrierBuilder {
        RetrierBuilder { clock: None, observers: Observers::default() }
    }

    pub(crate) fn clock(&self) -> Option<ClockHandle> {
        self.0.clock.clone()
    }

    pub(crate) fn observers(&self) -> &Observers {
        &self.0.observers
    }
}

impl Default for Retrier {
    fn default() -> Self {
        Self::new()
    }
}

/// Lets a function take a retrier or a reference to one.
impl AsRef<Self> for Retrier {
    fn as_ref(&self) -> &Self {
        self
    }
}

impl fmt::Debug for Retrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retrier")
            .field("own_clock", &self.0.clock.is_some())
            .field("observers", &self.0.observers.len())
            .finish()
    }
}

/// A retrier under construction. Made by [`Retrier::builder`].
#[must_use = "end with `build`"]
pub struct RetrierBuilder {
    clock: Option<ClockHandle>,
    observers: Observers,
}

impl RetrierBuilder {
    /// The clock of its operations, also where another one is scoped.
    pub fn clock(self, clock: impl Clock) -> Self {
        Self { clock: Some(ClockHandle::shared(Arc::new(clock))), ..self }
    }

    /// Adds an observer. Observers hear events in the order in which they were
    /// added.
    pub fn observer(mut self, observer: impl Observer) -> Self {
        self.observers.push(observer);
        self
    }

    /// The retrier.
    pub fn build(self) -> Retrier {
        Retrier(Arc::new(Parts { clock: self.clock, observers: self.observers }))
    }
}

impl fmt::Debug for RetrierBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetrierBuilder")
            .field("own_clock", &self.clock.is_some())
            .field("observers", &self.observers.len())
            .finish()
    }
}
