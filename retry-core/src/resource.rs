//! What is being protected.

mod error;
mod set;

use std::borrow::Cow;
use std::sync::Arc;

use crate::breaker::{Breaker, BreakerBuilder};
use crate::budget::Budget;
use crate::decide::OnRefusal;

pub use error::ResourceError;
pub(crate) use set::Resources;

/// What operations call and must not overload, named by its author: its budget,
/// its breaker, and what follows when one of them says no.
///
/// A retrier holds its resources. An operation names the one it calls, in the
/// attribute by `resource = "payments-gateway"`, a constant, so that no request
/// can bring one along.
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
    budget: Option<Budget>,
    breaker: Option<Breaker>,
    on_refusal: OnRefusal,
}

impl Resource {
    /// A resource without a budget and without a breaker.
    pub fn new<'a>(name: impl Into<Cow<'a, str>>) -> Self {
        let name = Arc::from(&*name.into());
        Self { name, budget: None, breaker: None, on_refusal: OnRefusal::Stop }
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
    pub fn on_refusal(self, on_refusal: OnRefusal) -> Self {
        Self { on_refusal, ..self }
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
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
