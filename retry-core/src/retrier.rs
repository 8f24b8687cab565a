//! The handle for `with =`.

use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;

use crate::clock::{Clock, ClockHandle};
use crate::decide::Situation;
use crate::observe::{Observer, Observers};
use crate::switch::{Position, Switch};

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
    nesting_limit: u32,
    switch: Switch,
}

impl Retrier {
    /// A retrier without observers, on the clock of the scope or the runtime.
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Starts a retrier.
    pub fn builder() -> RetrierBuilder {
        let nesting_limit = Situation::NESTING_LIMIT;
        RetrierBuilder { clock: None, observers: Observers::default(), nesting_limit }
    }

    /// Switches retries off: the kill switch. Each operation of this retrier and
    /// its clones makes one attempt, and waits that are under way end; they stop
    /// with `disabled`.
    ///
    /// ```
    /// use retry_core::Retrier;
    ///
    /// let retries = Retrier::new();
    /// retries.switch_off();
    /// assert!(!retries.is_switched_on());
    /// retries.switch_on();
    /// assert!(retries.is_switched_on());
    /// ```
    pub fn switch_off(&self) {
        self.0.switch.turn(Position::Off);
    }

    /// Switches retries on again, unless the retrier was shut down.
    pub fn switch_on(&self) {
        self.0.switch.turn(Position::On);
    }

    /// Whether operations may retry.
    pub fn is_switched_on(&self) -> bool {
        self.0.switch.position() == Position::On
    }

    /// Ends waits that are under way, for good: their operations stop with
    /// `cancelled`. Attempts that run are not cut, and an operation that begins
    /// later makes one attempt.
    pub fn shutdown(&self) {
        self.0.switch.turn(Position::ShutDown);
    }

    pub(crate) fn switch(&self) -> &Switch {
        &self.0.switch
    }

    pub(crate) fn nesting_limit(&self) -> u32 {
        self.0.nesting_limit
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
            .field("switch", &self.0.switch.position())
            .finish_non_exhaustive()
    }
}

/// A retrier under construction. Made by [`Retrier::builder`].
#[must_use = "end with `build`"]
pub struct RetrierBuilder {
    clock: Option<ClockHandle>,
    observers: Observers,
    nesting_limit: u32,
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

    /// The limit of the product of the current attempt numbers of operations
    /// inside each other (10 by default). It is judged before a retry of an operation inside another one, which stops with
    /// `nesting_limit`. Never before a first attempt: at 1, what runs inside
    /// others does not retry.
    pub fn nesting_limit(self, attempts: NonZeroU32) -> Self {
        Self { nesting_limit: attempts.get(), ..self }
    }

    /// The retrier.
    pub fn build(self) -> Retrier {
        let Self { clock, observers, nesting_limit } = self;
        Retrier(Arc::new(Parts { clock, observers, nesting_limit, switch: Switch::default() }))
    }
}

impl fmt::Debug for RetrierBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetrierBuilder")
            .field("own_clock", &self.clock.is_some())
            .field("observers", &self.observers.len())
            .finish_non_exhaustive()
    }
}
