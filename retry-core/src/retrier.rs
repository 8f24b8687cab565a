//! The handle for `with =`.

use std::fmt;
use std::num::NonZeroU32;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
#[cfg(feature = "durable")]
use std::time::Duration;

use crate::breaker::Breaker;
use crate::budget::Budget;
use crate::clock::{Clock, ClockHandle};
use crate::decide::Situation;
use crate::observe::{Observer, Observers};
use crate::policies::Policies;
use crate::policy::Policy;
use crate::resource::{Resource, ResourceError, Resources};
use crate::stop::UnknownName;
#[cfg(feature = "durable")]
use crate::store::Store;
use crate::switch::{Position, Switch};

/// What operations share: the clock, the observers, the [resources](Resource) that
/// they call, the policies by name, and the switch that turns retries off. Built
/// once, cloned cheaply, handed to `with =` in the attribute or to
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
    /// Held for as long as it takes to copy one policy, or to put another set in.
    policies: RwLock<Policies>,
    resources: Resources,
    #[cfg(feature = "durable")]
    keeping: Keeping,
}

/// Where durable operations are kept, and how.
#[cfg(feature = "durable")]
#[derive(Clone)]
pub(crate) struct Keeping {
    pub(crate) store: Option<Arc<dyn Store>>,
    /// How long an operation is held without a sign of life.
    pub(crate) lease: Duration,
    /// How long a result is kept.
    pub(crate) keep: Duration,
    pub(crate) code_version: Option<Arc<str>>,
}

#[cfg(feature = "durable")]
impl Keeping {
    pub(crate) const DEFAULT: Self = Self {
        store: None,
        lease: Duration::from_secs(30),
        keep: Duration::from_secs(30 * 86_400),
        code_version: None,
    };

    /// Shorter ones would be spent on heartbeats.
    const SHORTEST_LEASE: Duration = Duration::from_millis(10);
}

impl Retrier {
    /// A retrier without observers, on the clock of the scope or the runtime.
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Starts a retrier.
    pub fn builder() -> RetrierBuilder {
        let nesting_limit = Situation::NESTING_LIMIT;
        let (observers, policies) = (Observers::default(), Policies::new());
        let resources = Resources::default();
        RetrierBuilder {
            clock: None,
            observers,
            policies,
            nesting_limit,
            resources,
            #[cfg(feature = "durable")]
            keeping: Keeping::DEFAULT,
        }
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

    /// The policy of this name, as it is now: what `policy = "name"` in an
    /// attribute looks up at each call. For [`Operation`](crate::Operation), too.
    ///
    /// ```
    /// use std::time::Duration;
    /// use retry_core::{Policies, Policy, Retrier};
    ///
    /// let gateway = Policy::new(5, Duration::from_secs(30));
    /// let policies = Policies::new().with("gateway", gateway)?;
    /// let retrier = Retrier::builder().policies(policies).build();
    /// assert_eq!(retrier.policy("gateway"), Some(gateway));
    /// assert_eq!(retrier.policy("gatway"), None);
    /// # Ok::<(), retry_core::policies::PoliciesError>(())
    /// ```
    pub fn policy(&self, name: &str) -> Option<Policy> {
        self.policies().get(name).copied()
    }

    /// Puts other policies in place of all that there are, for every clone of this
    /// retrier. An operation that has begun keeps the numbers that it began with.
    pub fn replace_policies(&self, policies: Policies) {
        let mut place = self.0.policies.write().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *place, policies);
        drop(place);
        // Without the lock: a large set takes its time.
        drop(before);
    }

    /// Reads a file ([`Policies::read`]) and puts its policies in place of all that
    /// there are: one that the file no longer has is gone, and operations that name
    /// it stop. Blocks while the file is read.
    ///
    /// # Errors
    /// The file cannot be used, or has no policy. The policies in use are unchanged, and the text
    /// says so.
    ///
    /// ```no_run
    /// # use retry_core::Retrier;
    /// # fn doc(retrier: &Retrier) {
    /// // When the process is told to, as by SIGHUP.
    /// if let Err(error) = retrier.reload_policies("policies.toml") {
    ///     // policies.toml:4:12: `30` has no unit; write "30s"; the policies in use are unchanged
    ///     eprintln!("{error}");
    /// }
    /// # }
    /// ```
    #[cfg(any(feature = "toml", feature = "json"))]
    pub fn reload_policies(
        &self,
        path: impl AsRef<std::path::Path>,
    ) -> Result<(), crate::policies::PoliciesError> {
        match Policies::read(path) {
            Ok(policies) if policies.names().next().is_some() => {
                self.replace_policies(policies);
                Ok(())
            }
            Ok(_) => {
                let empty = Box::new(crate::policies::PoliciesError::Empty);
                Err(crate::policies::PoliciesError::NotReloaded(empty))
            }
            Err(error) => Err(crate::policies::PoliciesError::NotReloaded(Box::new(error))),
        }
    }

    /// The budget of the resource of this name; `None` where there is no such
    /// resource, or it has none.
    pub fn budget(&self, resource: &str) -> Option<&Budget> {
        self.0.resources.get(resource)?.get_budget()
    }

    /// The breaker of the resource of this name: to read its state, or to open
    /// and close it by hand, which no observer hears of. `None` where there is no
    /// such resource, or it has none.
    pub fn breaker(&self, resource: &str) -> Option<&Breaker> {
        self.0.resources.get(resource)?.get_breaker()
    }

    /// The policy of this name, or what to say of it.
    pub(crate) fn look_up_policy(&self, name: &str) -> Result<Policy, Arc<UnknownName>> {
        let policies = self.policies();
        let policy = policies.get(name).copied();
        policy.ok_or_else(|| Arc::new(UnknownName::new("policy", name, policies.names())))
    }

    /// Nothing panics under the lock; a set is put in whole.
    fn policies(&self) -> RwLockReadGuard<'_, Policies> {
        self.0.policies.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The store of its durable operations, if it has one.
    #[cfg(feature = "durable")]
    pub fn store(&self) -> Option<&dyn Store> {
        self.0.keeping.store.as_deref()
    }

    #[cfg(feature = "durable")]
    pub(crate) fn keeping(&self) -> &Keeping {
        &self.0.keeping
    }

    pub(crate) fn resources(&self) -> &Resources {
        &self.0.resources
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
            .field("policies", &self.policies().names().collect::<Vec<_>>())
            .field("resources", &self.0.resources.names().collect::<Vec<_>>())
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
    policies: Policies,
    resources: Resources,
    #[cfg(feature = "durable")]
    keeping: Keeping,
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

    /// Adds a resource, for operations that name it.
    ///
    /// # Errors
    /// It has no name, or the name of one that was added before.
    pub fn resource(mut self, resource: Resource) -> Result<Self, ResourceError> {
        self.resources.add(resource)?;
        Ok(self)
    }

    /// Sets the resource of operations that name none: one that was added.
    ///
    /// # Errors
    /// None of that name was added.
    pub fn default_resource(mut self, name: &str) -> Result<Self, ResourceError> {
        self.resources.set_default(name)?;
        Ok(self)
    }

    /// Sets the policies that are known by name. Without, there are none.
    pub fn policies(self, policies: Policies) -> Self {
        Self { policies, ..self }
    }

    /// The limit of the product of the current attempt numbers of operations
    /// inside each other (10 by default). It is judged before a retry of an
    /// operation inside another one, which stops with `nesting_limit`. Never before a first attempt: at 1, what runs inside
    /// others does not retry.
    pub fn nesting_limit(self, attempts: NonZeroU32) -> Self {
        Self { nesting_limit: attempts.get(), ..self }
    }

    /// Sets where durable operations are kept. Without, they stop with
    /// `invalid_policy`.
    #[cfg(feature = "durable")]
    pub fn store(mut self, store: impl Store) -> Self {
        self.keeping.store = Some(Arc::new(store));
        self
    }

    /// Sets how long a durable operation is held without a sign of life (30 s by
    /// default, 10 ms at least): so long after a crash the same call is answered
    /// `in_flight`. A holder gives three signs in that time; one that cannot, because
    /// its thread is blocked, loses the operation to the next call.
    #[cfg(feature = "durable")]
    pub fn lease(mut self, lease: Duration) -> Self {
        self.keeping.lease = lease.max(Keeping::SHORTEST_LEASE);
        self
    }

    /// Sets how long the result of a durable operation, or its final stop, answers
    /// the same call (30 days by default). Afterwards the same call is a new
    /// operation. It is kept with each operation when that begins.
    #[cfg(feature = "durable")]
    pub fn keep(mut self, keep: Duration) -> Self {
        self.keeping.keep = keep;
        self
    }

    /// Sets the version of the code, which is kept with each durable operation that
    /// it begins.
    #[cfg(feature = "durable")]
    pub fn code_version(mut self, version: impl Into<Arc<str>>) -> Self {
        self.keeping.code_version = Some(version.into());
        self
    }

    /// The retrier.
    pub fn build(self) -> Retrier {
        let Self { clock, observers, policies, nesting_limit, resources, .. } = self;
        Retrier(Arc::new(Parts {
            clock,
            observers,
            nesting_limit,
            switch: Switch::default(),
            policies: RwLock::new(policies),
            resources,
            #[cfg(feature = "durable")]
            keeping: self.keeping,
        }))
    }
}

impl fmt::Debug for RetrierBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetrierBuilder")
            .field("own_clock", &self.clock.is_some())
            .field("observers", &self.observers.len())
            .field("policies", &self.policies.names().collect::<Vec<_>>())
            .field("resources", &self.resources.names().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}
