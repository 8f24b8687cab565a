//! The loop without the attribute.

use std::borrow::Cow;
use std::future::Future;
use std::pin::pin;

use crate::attempt::Attempt;
use crate::classify::Failure;
use crate::decide::OnRefusal;
use crate::judge::{Accept, By, ByTrait, Classifier, Judged, Rejecter};
use crate::key::{IdempotencyKey, ToKey};
use crate::policy::Policy;
use crate::retrier::Retrier;
use crate::run::{Run, Spec};
use crate::safety::Safety;
use crate::stopped::Stopped;

/// An operation without the attribute: for closures, and for policies known
/// only at run time.
///
/// Prefer `#[retryable]` where a function can carry it: it rejects calls that
/// must not run twice when it is compiled. In a closure they are found when
/// they are polled, and stop the operation with `not_idempotent`.
///
/// ```
/// use std::time::Duration;
/// use retry_core::{Classify, Operation, Policy};
///
/// # async fn doc(config_attempts: u32) -> Result<u64, retry_core::Stopped<std::io::Error>> {
/// let policy = Policy::new(config_attempts, Duration::from_secs(5));
/// let size = Operation::idempotent("logs.size", policy)
///     .run(|_attempt| async { std::fs::metadata("app.log").map(|meta| meta.len()) })
///     .await?;
/// # Ok(size) }
/// ```
#[derive(Clone, Debug)]
#[must_use = "an operation does nothing until `run`"]
pub struct Operation<C = ByTrait, R = Accept> {
    spec: Spec,
    key: Option<Key>,
    retrier: Option<Retrier>,
    caller: Option<Cow<'static, str>>,
    classify: C,
    reject: R,
}

/// A key that was derived, or the empty one, refused when the operation runs.
type Key = Result<IdempotencyKey, crate::key::EmptyKey>;

impl Operation {
    /// Repeating it is harmless.
    pub fn idempotent(name: impl Into<Cow<'static, str>>, policy: Policy) -> Self {
        Self::of(name, policy, Safety::Idempotent)
    }

    /// The other side recognizes a repeated call by its key:
    /// [`Attempt::key`], to be sent along.
    ///
    /// ```
    /// use std::time::Duration;
    /// use retry_core::{Operation, Policy};
    ///
    /// let charge = Operation::keyed("payments.charge", "order-1", Policy::new(5, Duration::from_secs(30)));
    /// ```
    pub fn keyed(name: impl Into<Cow<'static, str>>, key: impl ToKey, policy: Policy) -> Self {
        let name = name.into();
        let key = key.to_key(&name);
        Self { key: Some(key), ..Self::of(name, policy, Safety::Keyed) }
    }

    /// It repeats only what certainly had no effect.
    pub fn at_most_once(name: impl Into<Cow<'static, str>>, policy: Policy) -> Self {
        Self::of(name, policy, Safety::AtMostOnce)
    }

    fn of(name: impl Into<Cow<'static, str>>, policy: Policy, safety: Safety) -> Self {
        let spec = Spec::named(name.into(), policy, safety);
        Self { spec, key: None, retrier: None, caller: None, classify: ByTrait, reject: Accept }
    }
}

impl<C, R> Operation<C, R> {
    /// Sets the retrier.
    pub fn with(self, retrier: &Retrier) -> Self {
        Self { retrier: Some(retrier.clone()), ..self }
    }

    /// Sets the resource that it calls, by the name that the retrier knows it by.
    /// A name that it does not know stops the operation with `invalid_policy`.
    pub fn resource(self, resource: &'static str) -> Self {
        Self { spec: self.spec.resource(resource), ..self }
    }

    /// Sets what follows when the resource's budget or breaker says no; without
    /// it, the resource does.
    pub fn on_refusal(self, on_refusal: OnRefusal) -> Self {
        Self { spec: self.spec.on_refusal(on_refusal), ..self }
    }

    /// Sets whose share of the resource's budget it uses: a tenant's, in place of
    /// the operation's own.
    pub fn caller(self, caller: impl Into<Cow<'static, str>>) -> Self {
        Self { caller: Some(caller.into()), ..self }
    }

    /// Retries what an operation inside it has given up for lack of attempts,
    /// time or local permission.
    pub fn retry_nested(self) -> Self {
        Self { spec: self.spec.retry_nested(), ..self }
    }

    /// Says what an error means, in place of its [`Classify`](trait@crate::Classify).
    pub fn classify<E, F: Into<Failure>>(
        self,
        classify: impl Fn(&E) -> F,
    ) -> Operation<impl Classifier<E>, R> {
        let Self { spec, key, retrier, caller, reject, .. } = self;
        let classify = By(move |error: &E| Judged::new(classify(error).into(), None));
        Operation { spec, key, retrier, caller, classify, reject }
    }

    /// Retries on an `Ok` for which this is true. A rejected value that no
    /// attempt can follow is given to the caller all the same.
    ///
    /// An `at_most_once` operation never repeats after an `Ok`, so there the
    /// first value is given.
    pub fn reject<T>(self, reject: impl Fn(&T) -> bool) -> Operation<C, impl Rejecter<T>> {
        let Self { spec, key, retrier, caller, classify, .. } = self;
        Operation { spec, key, retrier, caller, classify, reject: By(reject) }
    }

    /// Runs `attempt` until it succeeds or the operation stops.
    ///
    /// # Errors
    /// The operation stopped: [`Stopped::reason`] says why.
    pub async fn run<T, E, F>(self, mut attempt: impl FnMut(Attempt) -> F) -> Result<T, Stopped<E>>
    where
        F: Future<Output = Result<T, E>>,
        C: Classifier<E>,
        R: Rejecter<T>,
    {
        let Self { spec, key, retrier, caller, mut classify, mut reject } = self;
        let mut run = Run::new(&spec, retrier);
        if let Some(caller) = caller {
            run.set_caller(&caller);
        }
        if let Some(key) = key {
            run.derive_key(&Derived(key));
        }
        loop {
            run.begin().await?;
            let body = pin!(Some(attempt(run.attempt())));
            if let Some(result) = run.turn_by(body, &mut classify, &mut reject).await {
                return result;
            }
        }
    }
}

/// A key that is derived already.
struct Derived(Key);

impl ToKey for Derived {
    fn to_key(&self, _operation: &str) -> Key {
        self.0
    }
}
