//! The inline loop, in the pieces that the attribute and [`Operation`] put
//! together: it asks, waits and tells, and decides nothing.
//!
//! [`Operation`]: crate::Operation

#[cfg(feature = "durable")]
mod carry;
mod events;
mod handed;
mod outcome;
mod protection;
mod spec;
#[cfg_attr(not(feature = "tracing"), path = "run/no_trace.rs")]
mod trace;
mod turn;

use std::fmt;
use std::future::Future;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use thin_vec::ThinVec;

use crate::attempt::Attempt;
use crate::classify::Failure;
use crate::clock::{ClockHandle, Waiting};
use crate::decide::{Decision, Deferral, Refusal, Situation, decide_start};
use crate::judge::{Accept, By, ByTrait, Judged};
use crate::key::{EmptyKey, IdempotencyKey, ToKey};
use crate::ledger::Ledger;
use crate::nanos::Nanos;
use crate::observe::Observers;
use crate::operation_id::OperationId;
use crate::policy::{Policy, PolicyError};
use crate::retrier::Retrier;
use crate::safety::Safety;
use crate::scope::{self, Frame, Told};
use crate::stop::{Stop, UnknownName};
use crate::stopped::{FailedAttempt, Stopped};

use handed::{Carried, Handed};
#[cfg(feature = "durable")]
pub(crate) use outcome::{Failed, deferral_of};
use protection::Protection;
pub use spec::{LookedUp, Spec};
use trace::Trace;
use turn::{Begin, Hooked, Turn};

/// One operation in progress.
///
/// [`turn`](Self::turn) after turn until one gives the result, with
/// [`before_retry`](Self::before_retry) between them, if there is a hook.
///
/// It lies in the operation's future, so it is small: what only a few
/// operations need is allocated when they need it. And an operation whose first
/// attempt is ready at once pays for every field and every destructor, so there
/// are few of both.
pub struct Run<'a, E> {
    spec: &'a Spec,
    /// What operations inside see: the start, the operation's time (or what was
    /// left outside where that is less), the attempt's number.
    frame: Frame,
    /// Hints received.
    hints: u32,
    /// Logical time, as of the last event.
    elapsed: Nanos,
    /// When the wait is over, since the start.
    until: Nanos,
    held: Held<E>,
    trace: Trace,
    /// What ran in this attempt told it.
    told: Told,
    phase: Phase,
    call: Call,
}

/// What most operations do not have. Dropped by [`Run`], unless it is plain:
/// then there is nothing.
struct Held<E> {
    handed: ManuallyDrop<Option<Box<Handed>>>,
    /// The clock, where it is not the runtime's, and the timer.
    waiting: ManuallyDrop<Option<Pin<Box<Waiting>>>>,
    failures: ManuallyDrop<Option<ThinVec<FailedAttempt<E>>>>,
}

impl<E> Held<E> {
    fn resource(&self) -> Option<&str> {
        self.handed.as_ref()?.resource()
    }
}

/// The plain ones come first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    /// The first attempt of an operation that holds nothing: there is nothing to
    /// ask before it, nobody to tell, and nothing to drop.
    Plain,
    /// The same, when it holds a timer.
    PlainTimed,
    /// Before the first attempt.
    Fresh,
    Attempt,
    /// An attempt whose timer is set.
    TimedAttempt,
    /// A wait that has not yet given its turn to the executor.
    Yield,
    Wait,
    /// The wait is over, and its retry waits in line for a token.
    Line,
    /// An attempt waits for the breaker.
    Deferred,
    /// After a wait.
    Between,
    Done,
}

/// Whether an attempt may start.
pub(crate) enum Admission {
    Granted,
    /// Not yet; with what held when that was decided.
    Deferred(
        Deferral,
        #[cfg_attr(not(feature = "durable"), expect(dead_code, reason = "only records tell"))]
        Situation,
    ),
    Halted(Halt),
}

/// A stop where no failure was judged, with what held when it was decided.
pub(crate) struct Halt {
    pub(crate) stop: Stop,
    #[cfg_attr(not(feature = "durable"), expect(dead_code, reason = "only records tell"))]
    pub(crate) situation: Situation,
}

/// What tells the operation from others of its name.
#[derive(Clone, Copy)]
enum Call {
    /// Nothing yet: it is counted when its id is asked for.
    Uncounted,
    /// Bytes, because a `u64` would align the whole.
    Counted([u8; 8]),
    Keyed(IdempotencyKey),
    EmptyKey,
    EmptyName,
}

impl<'a, E> Run<'a, E> {
    /// An operation that starts now.
    #[inline]
    pub fn new(spec: &'a Spec, retrier: Option<Retrier>) -> Self {
        let trace = Trace::new();
        // Without short cuts: each would be a branch.
        let plain = spec.is_plain() & !scope::is_inside() & !trace.is_enabled() & retrier.is_none();
        if !plain || ClockHandle::RUNTIME.is_missing() {
            return Self::fresh(spec, retrier, trace);
        }
        // A policy that is valid allows its first attempt.
        let start = ClockHandle::RUNTIME.now();
        let frame = Frame::outermost(start, spec.policy().deadline_nanos());
        Self::in_phase(Phase::Plain, spec, frame, None, None, trace)
    }

    #[cold]
    fn fresh(spec: &'a Spec, retrier: Option<Retrier>, trace: Trace) -> Self {
        let own = retrier.as_ref().and_then(Retrier::clock);
        let clock = own.unwrap_or_else(scope::clock);
        let mut frame = Frame::of_operation(&clock, spec.policy().deadline_nanos());
        let waiting = (!clock.is_runtime()).then(|| Waiting::new(clock));
        let handed = retrier.map(|retrier| Box::new(Handed::new(retrier, spec, frame.resource)));
        if let Some(resource) = handed.as_ref().and_then(|handed| handed.resource_id()) {
            frame.resource = resource;
        }
        Self::in_phase(Phase::Fresh, spec, frame, handed, waiting, trace)
    }

    #[inline]
    fn in_phase(
        phase: Phase,
        spec: &'a Spec,
        frame: Frame,
        handed: Option<Box<Handed>>,
        waiting: Option<Pin<Box<Waiting>>>,
        trace: Trace,
    ) -> Self {
        Self {
            spec,
            frame,
            hints: 0,
            elapsed: Nanos::ZERO,
            until: Nanos::ZERO,
            held: Held {
                handed: ManuallyDrop::new(handed),
                waiting: ManuallyDrop::new(waiting),
                failures: ManuallyDrop::new(None),
            },
            trace,
            told: Told::NOTHING,
            phase,
            call: Call::Uncounted,
        }
    }

    /// Derives the operation's key. One that cannot be used stops the operation
    /// before its first attempt; what is answered then is never read.
    pub fn derive_key<K>(&mut self, key: &K) -> IdempotencyKey
    where
        // On a line of its own: the compiler quotes it.
        K: ToKey,
        K: ?Sized,
    {
        self.call = if self.spec.name().is_empty() {
            Call::EmptyName
        } else {
            match key.to_key(self.spec.name()) {
                Ok(key) => Call::Keyed(key),
                Err(EmptyKey) => Call::EmptyKey,
            }
        };
        match self.call {
            Call::Keyed(key) => key,
            _ => {
                self.phase = Phase::Fresh;
                IdempotencyKey::NIL
            }
        }
    }

    /// Sets whose share of the resource's budget it uses: a tenant's, in place of
    /// the operation's own.
    pub fn set_caller<C: AsRef<str> + ?Sized>(&mut self, caller: &C) {
        if let Some((protection, _)) = self.protection() {
            protection.use_caller(caller.as_ref());
        }
    }

    /// Starts the next attempt, for a body that wants to know which one it is;
    /// otherwise the turn does. `Err` where the policy cannot be used, or leaves
    /// no attempt or no time.
    #[inline]
    pub const fn begin<'r>(&'r mut self) -> Begin<'r, 'a, E> {
        Begin::new(self)
    }

    /// Whether the attempt has begun; otherwise it is deferred.
    #[cold]
    fn begin_judged(&mut self) -> Result<bool, Stopped<E>> {
        match self.admit() {
            Admission::Granted => {
                self.start();
                Ok(true)
            }
            Admission::Deferred(deferral, _) => {
                self.deferred(deferral);
                Ok(false)
            }
            Admission::Halted(halt) => Err(self.stop(halt.stop)),
        }
    }

    /// Asks whether the next attempt may start: what is decided, then the breaker.
    pub(crate) fn admit(&mut self) -> Admission {
        if self.phase == Phase::Fresh
            && let Err(stop) = self.check()
        {
            return Admission::Halted(Halt { stop, situation: self.situation() });
        }
        match self.judge_start(None) {
            Admission::Granted => self.ask_breaker(),
            refused => refused,
        }
    }

    /// Starts the attempt that was admitted: spends its token, and tells.
    pub(crate) fn start(&mut self) {
        let is_first = self.phase == Phase::Fresh;
        let now = self.instant(self.elapsed);
        if let (Some(handed), Some(now)) = (&mut *self.held.handed, now)
            && let Some(resource) = handed.begin(is_first, now)
        {
            self.frame.resource = resource;
        }
        if is_first {
            if self.spec.safety() == Safety::AtMostOnce {
                // To whatever is around it, the operation is one call that must
                // not run twice.
                scope::count_effects(1);
            }
        } else {
            self.frame.attempt = self.frame.attempt.saturating_add(1);
        }
        // What stopped before it, in a hook, is not its own.
        self.told = self.told.without_stop();
        self.phase = Phase::Attempt;
        if self.is_observed() {
            self.attempt_started();
        }
    }

    /// Asks the breaker, the last thing before an attempt.
    fn ask_breaker(&mut self) -> Admission {
        let (is_first, now) = (self.phase == Phase::Fresh, self.instant(self.elapsed));
        let (Some(handed), Some(now)) = (&mut *self.held.handed, now) else {
            return Admission::Granted;
        };
        let Some((protection, observers)) = handed.protection() else {
            return Admission::Granted;
        };
        protection.use_caller(self.spec.name());
        let Err(until) = protection.admit(is_first, now, observers) else {
            return Admission::Granted;
        };
        let next = until.map(|at| self.since_start(at));
        let refusal = Refusal::breaker(next);
        let refusal = self.protection().map(|(protection, _)| protection.refusal(refusal));
        let admission = self.judge_start(refusal);
        if let Admission::Deferred(..) = admission {
            self.phase = Phase::Deferred;
            if let (Some(until), Some((protection, _))) = (until, self.protection()) {
                protection.close_until(until);
            }
        }
        admission
    }

    /// One turn: begins an attempt, unless that was done, drives the body to its
    /// end or to the cut, judges what it gave, and waits where another follows.
    ///
    /// That `E` must be `Classify` is said where the turn is awaited, and only
    /// there: it would be an error each.
    #[inline]
    pub const fn turn<'r, F>(
        &'r mut self,
        body: Pin<&'r mut Option<F>>,
    ) -> Turn<'r, 'a, E, F, ByTrait, Accept> {
        self.turn_by(body, ByTrait, Accept)
    }

    /// The same, with an author's say in what an outcome means.
    #[inline]
    pub fn judged_turn<'r, T, F, C, R>(
        &'r mut self,
        body: Pin<&'r mut Option<F>>,
        judge: C,
        reject: R,
    ) -> Turn<'r, 'a, E, F, By<C>, By<R>>
    where
        F: Future<Output = Result<T, E>>,
        C: FnMut(&E) -> Judged<E>,
        R: FnMut(&T) -> bool,
    {
        self.turn_by(body, By(judge), By(reject))
    }

    #[inline]
    pub(crate) const fn turn_by<'r, F, C, R>(
        &'r mut self,
        body: Pin<&'r mut Option<F>>,
        judge: C,
        reject: R,
    ) -> Turn<'r, 'a, E, F, C, R> {
        Turn::new(self, body, judge, reject)
    }

    /// Drives what runs between a wait and the next attempt. Cut at the deadline.
    pub fn before_retry<'r, F: Future<Output = ()>>(
        &'r mut self,
        hook: Pin<&'r mut F>,
    ) -> Hooked<'r, 'a, E, F> {
        Hooked::new(self, hook)
    }

    /// The attempt that is running, for the body.
    pub fn attempt(&mut self) -> Attempt {
        Attempt {
            number: self.number(),
            released: self.released(),
            max_attempts: self.policy().get_max_attempts(),
            safety: self.spec.safety(),
            cut: self.instant(self.cut()),
            clock: self.clock().clone(),
            operation_id: self.id(),
            previous: self.last_failure().copied(),
        }
    }
}

/// Time and decisions.
impl<E> Run<'_, E> {
    pub(crate) fn clock(&self) -> &ClockHandle {
        match &*self.held.waiting {
            Some(waiting) => waiting.clock(),
            None => &ClockHandle::RUNTIME,
        }
    }

    /// The numbers that bound it: those of the call, or of its record.
    #[inline]
    pub(crate) fn policy(&self) -> &Policy {
        match self.carried() {
            Some(carried) => &carried.policy,
            None => self.spec.policy(),
        }
    }

    /// What an operation that survives its process brings along.
    #[inline]
    fn carried(&self) -> Option<&Carried> {
        self.held.handed.as_ref()?.carried.as_ref()
    }

    /// Logical time before this process began with it.
    #[inline]
    fn base(&self) -> Nanos {
        self.carried().map_or(Nanos::ZERO, |carried| carried.elapsed)
    }

    /// Attempts that were given back before their body was polled.
    fn released(&self) -> u32 {
        self.carried().map_or(0, |carried| carried.released)
    }

    /// The number of the attempt: those that were given back have one too.
    pub(crate) fn number(&self) -> u32 {
        self.attempts().saturating_add(self.released())
    }

    /// Attempts started: the first one's number is set before it starts.
    pub(crate) fn attempts(&self) -> u32 {
        match (self.phase, &*self.held.handed) {
            (Phase::Fresh, _) => 0,
            (Phase::Deferred | Phase::Done, Some(handed)) if handed.is_deferred_first() => 0,
            _ => self.frame.attempt,
        }
    }

    const fn in_attempt(&self) -> bool {
        !matches!(
            self.phase,
            Phase::Fresh
                | Phase::Yield
                | Phase::Wait
                | Phase::Line
                | Phase::Deferred
                | Phase::Between
                | Phase::Done
        )
    }

    pub(crate) fn ledger(&self) -> Ledger {
        Ledger::of(self.number(), self.released(), self.hints, self.elapsed)
    }

    fn instant(&self, since_start: Nanos) -> Option<Instant> {
        self.frame.since?.checked_add(since_start.minus(self.base()).duration())
    }

    fn since_start(&self, at: Instant) -> Duration {
        let since = self.frame.since.map(|start| at.saturating_duration_since(start));
        self.base().plus(Nanos::from_duration(since.unwrap_or_default())).duration()
    }

    /// When everything is cut.
    fn end(&self) -> Nanos {
        self.base().plus(self.frame.span)
    }

    fn protection(&mut self) -> Option<(&mut Protection, &Observers)> {
        self.held.handed.as_mut()?.protection()
    }

    /// Never before the last event.
    pub(crate) fn now(&self) -> Nanos {
        let passed = match self.frame.since {
            Some(start) => self.clock().now().saturating_duration_since(start),
            None => Duration::ZERO,
        };
        self.elapsed.max(self.base().plus(Nanos::from_duration(passed)))
    }

    /// When what runs is cut. An attempt began at the last event.
    fn cut(&self) -> Nanos {
        match self.policy().attempt_timeout_nanos() {
            Some(timeout) if self.in_attempt() => self.end().min(self.elapsed.plus(timeout)),
            _ => self.end(),
        }
    }

    fn last_failure(&self) -> Option<&Failure> {
        let failures = self.held.failures.as_ref()?;
        failures.last().map(|failed| &failed.failure)
    }

    /// What must hold before the first attempt, beside what is decided.
    pub(crate) fn check(&self) -> Result<(), Stop> {
        let resource = match (&*self.held.handed, self.spec.get_resource()) {
            (Some(handed), _) => handed.unknown(),
            (None, Some(name)) => Some(Arc::new(UnknownName::without_retrier("resource", name))),
            (None, None) => None,
        };
        if let Some(name) = self.spec.unknown().or(resource) {
            return Err(Stop::unknown(name));
        }
        let checked = match self.call {
            _ if self.clock().is_missing() => Err(PolicyError::NoClock),
            Call::EmptyKey => Err(PolicyError::EmptyKey),
            Call::EmptyName => Err(PolicyError::EmptyName),
            _ if self.spec.is_validated() => Ok(()),
            _ => self.spec.policy().validate(),
        };
        checked.map_err(Stop::invalid)
    }

    pub(crate) fn situation(&self) -> Situation {
        let situation = Situation::new()
            .safety(self.spec.safety())
            .effects(u32::from(self.told.effects()))
            .inner_stop(self.told.stop())
            .retry_nested(self.spec.retries_nested())
            .left_outside(self.end().duration())
            .nested(u32::from(self.frame.depth), self.frame.product);
        match &*self.held.handed {
            Some(handed) => handed.situation(situation),
            None => situation,
        }
    }

    /// Decides whether an attempt may start, with what held when it was decided.
    fn judge_start(&self, refusal: Option<Refusal>) -> Admission {
        let situation = self.situation();
        let situation = refusal.map_or(situation, |refusal| situation.refused(refusal));
        match decide_start(self.policy(), &self.ledger(), &situation) {
            Decision::Defer(deferral) => Admission::Deferred(deferral, situation),
            Decision::Stop(stop) => Admission::Halted(Halt { stop, situation }),
            Decision::StartAttempt | Decision::ScheduleRetry(_) => Admission::Granted,
        }
    }

    pub(crate) fn id(&mut self) -> OperationId {
        let name = self.spec.name().clone();
        let process = self.clock().process();
        let sequence = match self.call {
            Call::Keyed(key) => return OperationId::keyed(name, key),
            Call::Counted(sequence) => sequence,
            _ => process.count().to_ne_bytes(),
        };
        let id = OperationId::counted(name, process.id(), u64::from_ne_bytes(sequence));
        self.call = Call::Counted(sequence);
        id
    }
}

/// An operation that ends without an outcome was cancelled: its future was
/// dropped, or its body panicked.
impl<E> Drop for Run<'_, E> {
    #[inline]
    fn drop(&mut self) {
        if self.phase != Phase::Plain {
            self.let_go();
        }
    }
}

impl<E> Run<'_, E> {
    #[inline(never)]
    fn let_go(&mut self) {
        if self.phase == Phase::PlainTimed {
            Waiting::retire(&mut self.held.waiting);
        } else {
            self.let_go_of_all();
        }
    }

    #[cold]
    #[inline(never)]
    fn let_go_of_all(&mut self) {
        if self.is_observed() && self.phase != Phase::Done {
            self.cancelled();
        }
        let Held { handed, waiting, failures } = &mut self.held;
        Waiting::retire(waiting);
        drop((handed.take(), failures.take()));
    }
}

impl<E> fmt::Debug for Run<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").field("ledger", &self.ledger()).finish_non_exhaustive()
    }
}
