//! The decision: a pure function of policy, ledger, situation and failure.

mod refusal;
#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::backoff::Draw;
use crate::classify::{Class, Effect, Failure};
use crate::hint::Hint;
use crate::ledger::Ledger;
use crate::nanos::Nanos;
use crate::operation_id::OperationId;
use crate::policy::Policy;
use crate::safety::Safety;
use crate::stop::{Deadline, Detail, Stop, StopReason};

pub use refusal::{Deferral, OnRefusal, Refusal};

/// Decides what follows: after a failure, or (`None`) when an attempt is about
/// to start.
///
/// No clock, no I/O, no randomness: the same arguments give the same decision,
/// for the loop, for a replay, for an explanation.
///
/// After a failure, the first of these that holds decides:
///
/// 1. the error is the stop of a nested operation → its reason;
/// 2. permanent → `fail_permanent`;
/// 3. unknown, or in an `at_most_once` operation transient with an effect that
///    is possible → `manual_review`;
/// 4. the other side said not to retry → `do_not_retry`;
/// 5. the attempt made a call that must not run twice → `not_idempotent`;
/// 6. it is transient, and an operation inside the attempt had stopped → the
///    reason of that one, which the error may have lost on its way;
/// 7. the deadline has passed → `deadline_exceeded`;
/// 8. all attempts are used → `attempts_exhausted`;
/// 9. the hint is over its limit → `hint_too_long`;
/// 10. the next attempt would start at or after the deadline →
///     `deadline_exceeded`, at once;
/// 11. retries are switched off → `disabled`;
/// 12. nested attempts would multiply beyond the limit → `nesting_limit`;
/// 13. the budget of the resource has no token → `budget_exhausted`, or a later
///     start where the operation is to be deferred;
/// 14. otherwise the retry is scheduled.
///
/// Before an attempt: nothing left of the deadline → `deadline_exceeded`; all
/// attempts used → `attempts_exhausted`; retries are switched off, and it is not
/// the first → `disabled`; the breaker of the resource refuses → `circuit_open`,
/// or a deferral; otherwise it starts.
///
/// ```
/// use std::time::Duration;
/// use retry_core::{Decision, Failure, Ledger, OperationId, Policy, Situation, StopReason, decide};
///
/// let policy = Policy::new(3, Duration::from_secs(5));
/// let id = OperationId::from("order-1");
/// let mut ledger = Ledger::new();
/// ledger.attempt_started();
///
/// let failure = Failure::transient();
/// let Decision::ScheduleRetry(wait) = decide(&policy, &ledger, &Situation::new(), &id, Some(&failure)) else {
///     panic!("two attempts are left");
/// };
/// assert_eq!(wait.delay(), policy.get_backoff().delay("order-1", 1));
///
/// let declined = Failure::permanent();
/// let decision = decide(&policy, &ledger, &Situation::new(), &id, Some(&declined));
/// assert_eq!(decision.stop_reason(), Some(StopReason::FailPermanent));
/// ```
pub fn decide(
    policy: &Policy,
    ledger: &Ledger,
    situation: &Situation,
    id: &OperationId,
    failure: Option<&Failure>,
) -> Decision {
    match failure {
        Some(failure) => after_failure(policy, ledger, situation, id, failure)
            .map_or_else(Decision::Stop, Decision::ScheduleRetry),
        None => decide_start(policy, ledger, situation),
    }
}

/// The part of [`decide`] that is asked before every attempt. It needs no id,
/// which an operation without a key does not have yet.
#[inline]
pub(crate) fn decide_start(policy: &Policy, ledger: &Ledger, situation: &Situation) -> Decision {
    let start = || {
        in_time(policy, ledger, situation)?;
        attempts_left(policy, ledger)?;
        if ledger.attempts() > 0 { switched_on(situation) } else { Ok(()) }
    };
    match (start(), &situation.refusal) {
        (Err(stop), _) => Decision::Stop(stop),
        (Ok(()), None) => Decision::StartAttempt,
        (Ok(()), Some(refusal)) => {
            // Nor does one wait for permission when retries are switched off.
            if let (true, Err(stop)) = (refusal.defers(), switched_on(situation)) {
                return Decision::Stop(stop);
            }
            let deadline = situation.deadline(policy).span;
            refusal.before_attempt(ledger.elapsed_nanos(), deadline)
        }
    }
}

/// What a policy, a ledger and a failure lead to.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub enum Decision {
    /// The attempt that was asked about may start.
    StartAttempt,
    /// Wait, then start the next attempt.
    ScheduleRetry(Wait),
    /// Wait, then ask again whether the attempt may start.
    Defer(Deferral),
    /// No further attempt follows.
    Stop(Stop),
}

impl Decision {
    /// The stable code: `schedule_retry`, or that of the stop reason;
    /// `start_attempt` or `defer` where no failure was judged.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::StartAttempt => "start_attempt",
            Self::ScheduleRetry(_) => "schedule_retry",
            Self::Defer(_) => "defer",
            Self::Stop(stop) => stop.reason().code(),
        }
    }

    /// The reason, if this is a stop.
    pub const fn stop_reason(&self) -> Option<StopReason> {
        match self {
            Self::Stop(stop) => Some(stop.reason()),
            _ => None,
        }
    }
}

/// What holds around the operation when it is judged, beside its own numbers.
///
/// ```
/// use retry_core::{Safety, Situation};
///
/// let situation = Situation::new().safety(Safety::AtMostOnce).effects(1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "durable", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "durable", serde(default, deny_unknown_fields))]
#[must_use]
pub struct Situation {
    #[cfg_attr(feature = "durable", serde(skip_serializing_if = "is_usual"))]
    safety: Safety,
    #[cfg_attr(feature = "durable", serde(skip_serializing_if = "is_usual"))]
    effects: u32,
    #[cfg_attr(
        feature = "durable",
        serde(rename = "left_outside_ns", skip_serializing_if = "Option::is_none")
    )]
    left_outside: Option<Nanos>,
    #[cfg_attr(feature = "durable", serde(skip_serializing_if = "Option::is_none"))]
    inner_stop: Option<StopReason>,
    #[cfg_attr(feature = "durable", serde(skip_serializing_if = "is_usual"))]
    retry_nested: bool,
    #[cfg_attr(feature = "durable", serde(skip_serializing_if = "is_usual"))]
    switch: Switch,
    #[cfg_attr(feature = "durable", serde(skip_serializing_if = "is_usual"))]
    nesting: Nesting,
    #[cfg_attr(feature = "durable", serde(skip_serializing_if = "Option::is_none"))]
    refusal: Option<Refusal>,
}

/// Whether the operation may retry at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "durable", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "durable", serde(rename_all = "snake_case"))]
enum Switch {
    #[default]
    On,
    /// Switched off by an operator.
    Disabled,
    /// The process shuts down.
    ShutDown,
}

/// How deep the operation runs inside others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "durable", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "durable", serde(deny_unknown_fields))]
struct Nesting {
    depth: u32,
    /// The product of the current attempt numbers around the operation.
    product: u32,
    limit: u32,
}

impl Nesting {
    /// Nothing is around the operation.
    const NONE: Self = Self { depth: 1, product: 1, limit: Situation::NESTING_LIMIT };
}

impl Default for Nesting {
    fn default() -> Self {
        Self::NONE
    }
}

/// What a record need not say.
#[cfg(feature = "durable")]
fn is_usual<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Situation {
    /// An idempotent operation on its own, with retries switched on.
    pub const fn new() -> Self {
        Self {
            safety: Safety::Idempotent,
            effects: 0,
            left_outside: None,
            inner_stop: None,
            retry_nested: false,
            switch: Switch::On,
            nesting: Nesting::NONE,
            refusal: None,
        }
    }

    /// The limit of the product of the current attempt numbers of operations
    /// inside each other. It bounds each retry, and not the sum of the calls.
    pub const NESTING_LIMIT: u32 = 10;

    /// Sets why repeating the operation is safe.
    pub const fn safety(self, safety: Safety) -> Self {
        Self { safety, ..self }
    }

    /// How many calls that must not run twice the failed attempt made.
    pub const fn effects(self, effects: u32) -> Self {
        Self { effects, ..self }
    }

    /// What an operation or a workflow around this one had left when this one
    /// began. It only ever shortens.
    pub const fn left_outside(self, left: Duration) -> Self {
        Self { left_outside: Some(Nanos::from_duration(left)), ..self }
    }

    /// Why an operation inside the failed attempt stopped, if one did: a
    /// transient failure after it counts as that stop, whatever the error was
    /// converted to on its way.
    pub const fn inner_stop(self, reason: Option<StopReason>) -> Self {
        Self { inner_stop: reason, ..self }
    }

    /// Whether the operation retries what one inside it has given up for lack of
    /// attempts, time or local permission.
    pub const fn retry_nested(self, retry_nested: bool) -> Self {
        Self { retry_nested, ..self }
    }

    /// What a failure means here: without the reason of a nested stop that is to be
    /// retried.
    pub const fn seen(&self, failure: Failure) -> Failure {
        match failure.inner() {
            Some(reason) if self.retry_nested && reason.is_given_up() => {
                failure.with_class(Class::Transient)
            }
            _ => failure,
        }
    }

    /// The stop inside the attempt that its failure counts as, although its error
    /// does not show it.
    fn hidden_stop(&self, failure: &Failure) -> Option<StopReason> {
        let hides = failure.class() == Class::Transient && !failure.is_afresh();
        let retried = |reason: &StopReason| self.retry_nested && reason.is_given_up();
        self.inner_stop.filter(|reason| hides && !retried(reason))
    }

    /// Retries are switched off.
    pub const fn disabled(self, disabled: bool) -> Self {
        Self { switch: if disabled { Switch::Disabled } else { Switch::On }, ..self }
    }

    /// The process shuts down: no further attempt is made.
    pub const fn shut_down(self) -> Self {
        Self { switch: Switch::ShutDown, ..self }
    }

    /// The resource's budget or breaker said no.
    pub const fn refused(self, refusal: Refusal) -> Self {
        Self { refusal: Some(refusal), ..self }
    }

    /// The operation is the `depth`-th of nested ones (1: none around it), and
    /// the current attempt numbers of those around it multiply to `product`.
    pub const fn nested(self, depth: u32, product: u32) -> Self {
        Self { nesting: Nesting { depth, product, ..self.nesting }, ..self }
    }

    /// Sets the limit of that product.
    pub const fn nesting_limit(self, limit: u32) -> Self {
        Self { nesting: Nesting { limit, ..self.nesting }, ..self }
    }

    /// The same, without what a record tells elsewhere.
    #[cfg(feature = "durable")]
    pub(crate) fn recorded(self, policy: &Policy) -> Self {
        let left_outside = self.left_outside.filter(|left| *left < policy.deadline_nanos());
        Self { left_outside, safety: Safety::default(), ..self }
    }

    /// The time that this operation has.
    const fn deadline(&self, policy: &Policy) -> Deadline {
        let own = policy.deadline_nanos();
        match self.left_outside {
            Some(left) if left.get() < own.get() => Deadline { span: left, from_outside: true },
            _ => Deadline { span: own, from_outside: false },
        }
    }
}

impl Default for Situation {
    fn default() -> Self {
        Self::new()
    }
}

/// A retry that is scheduled: the delay, and what it was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    attempt: u32,
    draw: Draw,
    hint: Option<Nanos>,
    delay: Nanos,
    start: Nanos,
    /// When it would start if no budget had refused.
    earliest: Nanos,
}

impl Wait {
    /// The attempt that failed.
    pub const fn attempt(&self) -> u32 {
        self.attempt
    }

    /// The longest computed delay after that attempt.
    pub const fn ceiling(&self) -> Duration {
        self.draw.ceiling.duration()
    }

    /// The operation's draw for that attempt.
    pub const fn unit(&self) -> u32 {
        self.draw.unit
    }

    /// The delay that the backoff gave, before the hint.
    pub const fn computed(&self) -> Duration {
        self.draw.delay.duration()
    }

    /// The wait that the other side asked for, if it did.
    pub const fn hint(&self) -> Option<Duration> {
        match self.hint {
            Some(hint) => Some(hint.duration()),
            None => None,
        }
    }

    /// The delay that is slept.
    pub const fn delay(&self) -> Duration {
        self.delay.duration()
    }

    /// Whether it is longer because the retry has to wait for its token.
    pub const fn is_deferred(&self) -> bool {
        self.earliest.get() < self.start.get()
    }

    pub(crate) const fn earliest(&self) -> Nanos {
        self.earliest
    }

    /// When the next attempt starts, counted from the start of attempt 1.
    pub const fn start(&self) -> Duration {
        self.start.duration()
    }
}

/// Whether what is around the operation leaves it the wait that it has planned.
#[cfg(feature = "durable")]
pub(crate) fn decide_planned(
    policy: &Policy,
    ledger: &Ledger,
    situation: &Situation,
    start: Duration,
) -> Option<Stop> {
    let (deadline, elapsed) = (situation.deadline(policy), ledger.elapsed_nanos());
    let start = Nanos::from_duration(start);
    let is_late = deadline.from_outside && start >= deadline.span;
    is_late.then(|| would_start_late(policy, deadline, elapsed, start.minus(elapsed), None))
}

/// When the next attempt would start, if only the numbers counted: what a stop
/// that is not final leaves planned.
#[cfg(feature = "durable")]
pub(crate) fn planned(
    policy: &Policy,
    ledger: &Ledger,
    situation: &Situation,
    id: &OperationId,
    failure: &Failure,
) -> Option<Duration> {
    let hint = hint_within_limit(policy, failure).ok()?;
    let alone = Situation { left_outside: None, ..*situation };
    schedule(policy, ledger, &alone, id, hint).ok().map(|wait| wait.start())
}

fn after_failure(
    policy: &Policy,
    ledger: &Ledger,
    situation: &Situation,
    id: &OperationId,
    failure: &Failure,
) -> Result<Wait, Stop> {
    let failure = &situation.seen(*failure);
    may_repeat(policy, situation, failure)?;
    in_time(policy, ledger, situation)?;
    attempts_left(policy, ledger)?;
    let hint = hint_within_limit(policy, failure)?;
    let wait = schedule(policy, ledger, situation, id, hint)?;
    switched_on(situation)?;
    within_nesting_limit(ledger, situation)?;
    match &situation.refusal {
        Some(refusal) => refusal.after_failure(wait, situation.deadline(policy).span),
        None => Ok(wait),
    }
}

const fn switched_on(situation: &Situation) -> Result<(), Stop> {
    match situation.switch {
        Switch::On => Ok(()),
        Switch::Disabled => Err(Stop::new(StopReason::Disabled)),
        Switch::ShutDown => Err(Stop::with(StopReason::Cancelled, Detail::ShutDown)),
    }
}

fn may_repeat(policy: &Policy, situation: &Situation, failure: &Failure) -> Result<(), Stop> {
    if let Some(reason) = failure.inner() {
        let from_outside = situation.deadline(policy).from_outside;
        return Err(Stop::with(reason, Detail::Nested { from_outside }));
    }
    match failure.class() {
        Class::Permanent => return Err(Stop::new(StopReason::FailPermanent)),
        Class::Unknown => return Err(Stop::new(StopReason::ManualReview)),
        Class::Transient => {}
    }
    let at_most_once = situation.safety == Safety::AtMostOnce;
    if at_most_once && (failure.effect() == Effect::Possible || situation.effects > 1) {
        return Err(Stop::with(StopReason::ManualReview, Detail::MayHaveTakenEffect));
    }
    if failure.hint() == Some(Hint::DoNotRetry) {
        return Err(Stop::new(StopReason::DoNotRetry));
    }
    if !at_most_once && situation.effects > 0 {
        return Err(Stop::new(StopReason::NotIdempotent));
    }
    match situation.hidden_stop(failure) {
        Some(reason) => {
            let from_outside = situation.deadline(policy).from_outside;
            Err(Stop::with(reason, Detail::Nested { from_outside }))
        }
        None => Ok(()),
    }
}

fn in_time(policy: &Policy, ledger: &Ledger, situation: &Situation) -> Result<(), Stop> {
    let deadline = situation.deadline(policy);
    if ledger.elapsed_nanos() < deadline.span {
        return Ok(());
    }
    let detail = Detail::Late { deadline, elapsed: ledger.elapsed_nanos() };
    Err(Stop::with(StopReason::DeadlineExceeded, detail))
}

fn attempts_left(policy: &Policy, ledger: &Ledger) -> Result<(), Stop> {
    let max_attempts = policy.get_max_attempts();
    if ledger.attempts() < max_attempts {
        return Ok(());
    }
    Err(Stop::with(StopReason::AttemptsExhausted, Detail::Attempts { max_attempts }))
}

fn hint_within_limit(policy: &Policy, failure: &Failure) -> Result<Option<Nanos>, Stop> {
    let Some(Hint::Wait(hint)) = failure.hint() else {
        return Ok(None);
    };
    let (hint, limit) = (Nanos::from_duration(hint), policy.hint_limit_nanos());
    if hint > limit {
        return Err(Stop::with(StopReason::HintTooLong, Detail::Hint { hint, limit }));
    }
    Ok(Some(hint))
}

fn schedule(
    policy: &Policy,
    ledger: &Ledger,
    situation: &Situation,
    id: &OperationId,
    hint: Option<Nanos>,
) -> Result<Wait, Stop> {
    let attempt = ledger.number();
    let draw = policy.backoff_ref().draw(attempt, id.unit(attempt));
    let (elapsed, deadline) = (ledger.elapsed_nanos(), situation.deadline(policy));
    let left = deadline.span.minus(elapsed);
    let delay = match hint {
        Some(hint) if hint > draw.delay && hint < left => spread(hint, left, draw.unit),
        Some(hint) => draw.delay.max(hint),
        None => draw.delay,
    };
    if delay >= left {
        return Err(would_start_late(policy, deadline, elapsed, delay, hint));
    }
    let start = elapsed.plus(delay);
    Ok(Wait { attempt, draw, hint, delay, start, earliest: start })
}

fn would_start_late(
    policy: &Policy,
    deadline: Deadline,
    elapsed: Nanos,
    delay: Nanos,
    hint: Option<Nanos>,
) -> Stop {
    let limit = policy.hint_limit_nanos();
    let detail = Detail::WouldStartLate { deadline, elapsed, delay, hint, limit };
    Stop::with(StopReason::DeadlineExceeded, detail)
}

/// A hint is a floor; what is added keeps those who were given the same hint
/// from returning together, and stays before the deadline.
fn spread(hint: Nanos, left: Nanos, unit: u32) -> Nanos {
    let span = (hint.wide() / 2).min(left.minus(hint).wide());
    hint.plus(Nanos::saturating((span * u128::from(unit)) >> 32))
}

fn within_nesting_limit(ledger: &Ledger, situation: &Situation) -> Result<(), Stop> {
    let Nesting { depth, product, limit } = situation.nesting;
    let next = u64::from(product) * (u64::from(ledger.attempts()) + 1);
    if depth < 2 || next <= u64::from(limit) {
        return Ok(());
    }
    Err(Stop::with(StopReason::NestingLimit, Detail::Nesting { calls: next, limit }))
}
