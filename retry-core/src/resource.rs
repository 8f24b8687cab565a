//! What is being protected.

mod error;
mod set;

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use crate::breaker::{Breaker, BreakerBuilder};
use crate::budget::Budget;
use crate::decide::OnRefusal;
use crate::scope::Frame;

pub use error::ResourceError;
pub(crate) use set::Resources;

/// What operations call and must not overload, named by its author: its budget,
/// its breaker, and what follows when one of them says no.
///
/// A retrier holds its resources. An operation names the one it calls, in the
/// attribute by `resource = "payments-gateway"`, a constant, so that no request
/// can bring one along.
///
/// An operation that runs inside an attempt of another one on the same resource is
/// part of that attempt: where the attempt is a probe of a half-open breaker, it
/// goes with it and is not repeated, and it deposits nothing in the budget. Its
/// retries take tokens as all do.
///
/// An attempt that is cut before it had its own time, because the deadline or the
/// caller left it less, says nothing about the resource.
///
/// ```
/// use std::time::Duration;
/// use retry_core::{Breaker, Budget, OnRefusal, Resource, Retrier};
///
/// let gateway = Resource::new("payments-gateway")
///     .budget(Budget::ratio(0.2).build()?)
///     .breaker(Breaker::consecutive(10, Duration::from_secs(30)))?
///     .on_refusal(OnRefusal::Stop);
/// let retries = Retrier::builder().resource(gateway)?.build();
///
/// assert!(retries.breaker("payments-gateway").is_some());
/// assert!(retries.budget("payments").is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a resource does nothing until a retrier holds it"]
pub struct Resource {
    name: Arc<str>,
    /// What operations inside others know it by, not 0.
    id: u16,
    budget: Option<Budget>,
    breaker: Option<Breaker>,
    on_refusal: OnRefusal,
}

impl Resource {
    /// A resource without a budget and without a breaker.
    pub fn new<'a>(name: impl Into<Cow<'a, str>>) -> Self {
        static NEXT: AtomicU16 = AtomicU16::new(1);
        let name = Arc::from(&*name.into());
        // One of 32 767: a process has few, and makes them once.
        let id = (NEXT.fetch_add(1, Ordering::Relaxed) & !Frame::PROBE).max(1);
        Self { name, id, budget: None, breaker: None, on_refusal: OnRefusal::Stop }
    }

    /// Sets how many retries it is asked to bear.
    pub fn budget(self, budget: Budget) -> Self {
        Self { budget: Some(budget), ..self }
    }

    /// Sets the breaker, which gets the resource's name: the time that it stays
    /// open is drawn from it.
    ///
    /// # Errors
    /// A setting of the breaker cannot be used.
    pub fn breaker(self, breaker: BreakerBuilder) -> Result<Self, ResourceError> {
        let breaker = breaker.name(self.name.to_string()).build();
        let breaker = breaker.map_err(|error| ResourceError::Breaker(self.name.clone(), error))?;
        Ok(Self { breaker: Some(breaker), ..self })
    }

    /// Sets what follows when the budget or the breaker says no, where the
    /// operation does not say so itself. Without, the operation stops.
    ///
    /// Deferred by a breaker whose probes are all out, an operation waits for the
    /// end of the first probe's lease, although the probe may end before: set a
    /// [`lease`](BreakerBuilder::lease) that is not much longer than a call.
    pub fn on_refusal(self, on_refusal: OnRefusal) -> Self {
        Self { on_refusal, ..self }
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) const fn id(&self) -> u16 {
        self.id
    }

    pub(crate) const fn get_budget(&self) -> Option<&Budget> {
        self.budget.as_ref()
    }

    pub(crate) const fn get_breaker(&self) -> Option<&Breaker> {
        self.breaker.as_ref()
    }

    pub(crate) const fn get_on_refusal(&self) -> OnRefusal {
        self.on_refusal
    }
}
