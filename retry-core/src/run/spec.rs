//! What is fixed about an operation before it is called.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use crate::backoff::Backoff;
use crate::decide::OnRefusal;
use crate::policy::Policy;
use crate::retrier::Retrier;
use crate::safety::Safety;
use crate::stop::UnknownName;

/// Name, policy and safety of an operation: a constant where the attribute
/// holds only literals.
#[derive(Clone, Debug)]
pub struct Spec {
    name: Cow<'static, str>,
    policy: Policy,
    safety: Safety,
    validated: bool,
    /// Whether there is nothing to judge and nobody to tell before the first
    /// attempt of an operation that is on its own.
    plain: bool,
    /// When the first attempt of a plain operation is cut.
    first_cut: Duration,
    /// Whether it retries what an operation inside it has given up.
    retries_nested: bool,
    /// What it calls, by the name that the retrier knows it by.
    resource: Option<&'static str>,
    /// `None`: as the resource says.
    on_refusal: Option<OnRefusal>,
    /// Whether it waits for the same call that runs elsewhere.
    #[cfg(feature = "durable")]
    attaches: bool,
    /// The policy's name, where the retrier does not know it.
    unknown: Option<Arc<UnknownName>>,
}

impl Spec {
    /// A policy that is judged at the call.
    pub const fn new(name: &'static str, policy: Policy, safety: Safety) -> Self {
        Self::named(Cow::Borrowed(name), policy, safety)
    }

    /// A policy of literals, judged now: in a constant, by the compiler.
    #[track_caller]
    pub const fn checked(name: &'static str, policy: Policy, safety: Safety) -> Self {
        if let Err(error) = policy.validate() {
            error.refuse()
        }
        let first_cut = match policy.get_attempt_timeout() {
            Some(timeout) => timeout,
            None => policy.get_deadline(),
        };
        let plain = !matches!(safety, Safety::AtMostOnce);
        let mut spec = Self::named(Cow::Borrowed(name), policy, safety);
        spec.validated = true;
        spec.plain = plain;
        spec.first_cut = first_cut;
        spec
    }

    /// A backoff of literals, judged now.
    #[track_caller]
    pub const fn checked_backoff(backoff: Backoff) -> Backoff {
        if let Err(error) = backoff.validate() {
            error.refuse()
        }
        backoff
    }

    /// Says under which name the policy was looked up, in case there is none.
    pub fn looked_up(mut self, found: LookedUp) -> Self {
        self.unknown = found.0.err();
        self
    }

    /// Retries what an operation inside it has given up.
    pub const fn retry_nested(mut self) -> Self {
        self.retries_nested = true;
        self
    }

    /// Sets the resource that it calls.
    pub const fn resource(mut self, resource: &'static str) -> Self {
        self.resource = Some(resource);
        self
    }

    /// Sets what follows when the resource's budget or breaker says no.
    pub const fn on_refusal(mut self, on_refusal: OnRefusal) -> Self {
        self.on_refusal = Some(on_refusal);
        self
    }

    /// It survives its process: by default it waits where it is refused.
    #[cfg(feature = "durable")]
    pub const fn durable(mut self) -> Self {
        self.plain = false;
        if self.on_refusal.is_none() {
            self.on_refusal = Some(OnRefusal::Defer);
        }
        self
    }

    /// Waits for the same call that runs elsewhere.
    #[cfg(feature = "durable")]
    pub const fn attach(mut self) -> Self {
        self.attaches = true;
        self
    }

    #[cfg(feature = "durable")]
    pub(crate) const fn attaches(&self) -> bool {
        self.attaches
    }

    pub(crate) const fn named(name: Cow<'static, str>, policy: Policy, safety: Safety) -> Self {
        Self {
            name,
            policy,
            safety,
            validated: false,
            plain: false,
            first_cut: Duration::ZERO,
            retries_nested: false,
            resource: None,
            on_refusal: None,
            #[cfg(feature = "durable")]
            attaches: false,
            unknown: None,
        }
    }

    pub(crate) const fn name(&self) -> &Cow<'static, str> {
        &self.name
    }

    pub(crate) const fn policy(&self) -> &Policy {
        &self.policy
    }

    pub(crate) const fn safety(&self) -> Safety {
        self.safety
    }

    /// When the first attempt is cut, since its start.
    #[inline]
    pub(crate) const fn first_cut(&self) -> Duration {
        self.first_cut
    }

    #[inline]
    pub(crate) const fn is_plain(&self) -> bool {
        self.plain
    }

    pub(crate) const fn retries_nested(&self) -> bool {
        self.retries_nested
    }

    pub(crate) const fn get_resource(&self) -> Option<&'static str> {
        self.resource
    }

    pub(crate) const fn get_on_refusal(&self) -> Option<OnRefusal> {
        self.on_refusal
    }

    pub(crate) fn unknown(&self) -> Option<Arc<UnknownName>> {
        self.unknown.clone()
    }

    pub(crate) const fn is_validated(&self) -> bool {
        self.validated
    }
}

/// What a retrier has under a policy's name.
#[derive(Debug)]
pub struct LookedUp(Result<Policy, Arc<UnknownName>>);

impl LookedUp {
    /// Looks a policy up, as it is now. The attribute refuses a name without a
    /// retrier.
    pub fn new(retrier: &Option<Retrier>, name: &str) -> Self {
        let nobody = || Err(Arc::new(UnknownName::without_retrier("policy", name)));
        Self(retrier.as_ref().map_or_else(nobody, |retrier| retrier.look_up_policy(name)))
    }

    /// The policy. Where there is none, one that no attempt is made under.
    pub const fn policy(&self) -> Policy {
        match &self.0 {
            Ok(policy) => *policy,
            Err(_) => Policy::new(1, Duration::MAX),
        }
    }
}
