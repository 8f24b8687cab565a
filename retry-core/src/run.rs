//! The inline loop, in the pieces that the attribute and [`Operation`] put
//! together: it asks, waits and tells, and decides nothing.
//!
//! [`Operation`]: crate::Operation

mod spec;
#[cfg_attr(not(feature = "tracing"), path = "run/no_trace.rs")]
mod trace;

use std::fmt;
use std::future::Future;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use crate::attempt::Attempt;
use crate::classify::Failure;
use crate::clock::{ClockHandle, Timer};
use crate::decide::{Decision, Safety, Situation, Stop, decide, decide_start};
use crate::key::{EmptyKey, IdempotencyKey, ToKey};
use crate::ledger::Ledger;
use crate::nanos::Nanos;
use crate::observe::{AttemptFailed, AttemptStarted, Cancelled, OperationStopped, Succeeded};
use crate::operation_id::OperationId;
use crate::policy::PolicyError;
use crate::retrier::Retrier;
use crate::scope::{self, Around, Frame};
use crate::stopped::{FailedAttempt, REMEMBERED, Report, Stopped};

pub use spec::Spec;
use trace::Trace;

/// How to write an error's text, where its type has one.
pub type Describe<E> = fn(&E, &mut fmt::Formatter<'_>) -> fmt::Result;

/// One operation in progress.
///
/// Turn by turn: [`begin`](Self::begin), [`poll_attempt`](Self::poll_attempt)
/// until it is ready, [`settle`](Self::settle), and, unless that gave the
/// result, [`poll_wait`](Self::poll_wait) until it is ready.
pub struct Run<'a, E> {
    spec: &'a Spec,
    retrier: Option<Retrier>,
    clock: ClockHandle,
    start: Instant,
    around: Around,
    key: Key,
    /// Which call of the process it is; zero until the id is asked for.
    sequence: u64,
    ledger: Ledger,
    /// Calls that must not run twice, made by this attempt.
    effects: u32,
    phase: Phase,
    /// When the attempt is cut, or the wait is over, since the start.
    until: Nanos,
    timer: Option<Timer>,
    failures: Vec<FailedAttempt<E>>,
    trace: Trace,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Before the first attempt, and between waits and attempts.
    Between,
    Attempt,
    /// A wait that has not yet given its turn to the executor.
    Yield,
    Wait,
    Done,
}

#[derive(Clone, Copy)]
enum Key {
    None,
    Derived(IdempotencyKey),
    Empty,
    Unnamed,
}

impl<'a, E> Run<'a, E> {
    /// An operation that starts now.
    #[inline]
    pub fn new(spec: &'a Spec, retrier: Option<Retrier>) -> Self {
        let own = retrier.as_ref().and_then(Retrier::clock);
        let (clock, start, around) = scope::around(own);
        Self {
            spec,
            retrier,
            clock,
            start,
            around,
            key: Key::None,
            sequence: 0,
            ledger: Ledger::new(),
            effects: 0,
            phase: Phase::Between,
            until: Nanos::ZERO,
            timer: None,
            failures: Vec::new(),
            trace: Trace::new(),
        }
    }

    /// Derives the operation's key. One that cannot be used stops the operation
    /// before its first attempt; what is answered then is never read.
    pub fn derive_key(&mut self, key: &(impl ToKey + ?Sized)) -> IdempotencyKey {
        self.key = if self.spec.name().is_empty() {
            Key::Unnamed
        } else {
            match key.to_key(self.spec.name()) {
                Ok(key) => Key::Derived(key),
                Err(EmptyKey) => Key::Empty,
            }
        };
        match self.key {
            Key::Derived(key) => key,
            _ => IdempotencyKey::NIL,
        }
    }

    /// Starts the next attempt.
    ///
    /// # Errors
    /// The policy cannot be used, or leaves no attempt or no time.
    #[inline]
    pub fn begin(&mut self) -> Result<(), Stopped<E>> {
        if self.ledger.attempts() == 0 {
            self.check()?;
        }
        if let Decision::Stop(stop) = self.decide(None) {
            return Err(self.stop(stop));
        }
        if self.ledger.attempts() == 0 && self.spec.safety() == Safety::AtMostOnce {
            // To whatever is around it, the operation is one call that must not
            // run twice.
            scope::effect();
        }
        self.ledger.attempt_started();
        self.phase = Phase::Attempt;
        self.until = self.cut();
        if self.is_observed() {
            self.attempt_started();
        }
        Ok(())
    }

    /// Polls the body, and the timer that cuts it. Ready with `None` when the
    /// body was cut.
    #[inline]
    pub fn poll_attempt<F: Future>(
        &mut self,
        body: Pin<&mut F>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<F::Output>> {
        match self.poll_inside(body, cx) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending => self.poll_cut(cx).map(|()| None),
        }
    }

    /// Polls what runs between a wait and the next attempt. Cut at the deadline.
    pub fn poll_before_retry<F: Future<Output = ()>>(
        &mut self,
        hook: Pin<&mut F>,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        self.until = self.deadline();
        let polled = match self.poll_inside(hook, cx) {
            Poll::Ready(()) => Poll::Ready(()),
            Poll::Pending => self.poll_cut(cx),
        };
        if polled.is_ready() {
            let elapsed = self.elapsed();
            self.ledger.reached(elapsed.duration());
        }
        polled
    }

    /// Judges what an attempt gave. `Break` with the result, or `Continue` when
    /// a wait follows.
    #[inline]
    pub fn settle<T, C: Into<Failure>>(
        &mut self,
        outcome: Option<Result<T, E>>,
        classify: impl FnOnce(&E) -> C,
        describe: Option<Describe<E>>,
    ) -> ControlFlow<Result<T, Stopped<E>>> {
        match outcome {
            Some(Ok(value)) => {
                self.succeed();
                ControlFlow::Break(Ok(value))
            }
            Some(Err(error)) => {
                let failure = classify(&error).into();
                self.fail(failure, Some(error), describe)
            }
            None => self.fail(Failure::timeout(), None, None),
        }
    }

    /// As [`settle`](Self::settle), for an operation that rejects values. A
    /// rejected value that no attempt can follow is the caller's.
    pub fn settle_or_reject<T, C: Into<Failure>>(
        &mut self,
        outcome: Option<Result<T, E>>,
        classify: impl FnOnce(&E) -> C,
        describe: Option<Describe<E>>,
        reject: impl FnOnce(&T) -> bool,
    ) -> ControlFlow<Result<T, Stopped<E>>> {
        match outcome {
            Some(Ok(value)) if reject(&value) => {
                match self.fail::<()>(Failure::rejected(), None, None) {
                    ControlFlow::Break(_) => ControlFlow::Break(Ok(value)),
                    ControlFlow::Continue(()) => ControlFlow::Continue(()),
                }
            }
            outcome => self.settle(outcome, classify, describe),
        }
    }

    /// Waits for the next attempt. A turn of the executor passes at least.
    pub fn poll_wait(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let waited = match self.phase {
            Phase::Yield => {
                self.phase = Phase::Wait;
                if self.until <= self.ledger.elapsed_nanos() {
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                self.set_timer();
                match self.poll_timer(cx) {
                    Poll::Ready(()) => {
                        // A timer that is ready at once would otherwise hold the thread.
                        cx.waker().wake_by_ref();
                        self.timer = None;
                        Poll::Pending
                    }
                    Poll::Pending => Poll::Pending,
                }
            }
            Phase::Wait => self.poll_timer(cx),
            Phase::Between | Phase::Attempt | Phase::Done => Poll::Ready(()),
        };
        if waited.is_ready() {
            self.phase = Phase::Between;
            let elapsed = self.elapsed();
            self.ledger.reached(elapsed.duration());
        }
        waited
    }

    /// The attempt that is running, for the body.
    pub fn attempt(&mut self) -> Attempt {
        Attempt {
            number: self.ledger.attempts(),
            max_attempts: self.spec.policy().get_max_attempts(),
            safety: self.spec.safety(),
            cut: self.instant(self.until),
            clock: self.clock.clone(),
            operation_id: self.id(),
            previous: self.failures.last().map(|failed| failed.failure),
        }
    }
}

/// Polling.
impl<E> Run<'_, E> {
    #[inline]
    fn poll_inside<F: Future>(
        &mut self,
        future: Pin<&mut F>,
        cx: &mut Context<'_>,
    ) -> Poll<F::Output> {
        let frame = Frame {
            clock: self.clock.clone(),
            deadline: self.instant(self.deadline()),
            depth: self.around.depth + 1,
            product: self.around.product.saturating_mul(self.ledger.attempts().max(1)),
            effects: 0,
        };
        let contained = self.spec.safety() == Safety::AtMostOnce;
        let _span = self.trace.enter();
        scope::enter(frame, contained, &mut self.effects, || future.poll(cx))
    }

    fn poll_cut(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.set_timer();
        match &mut self.timer {
            Some(timer) => timer.poll_on_time(&self.clock, cx),
            None => Poll::Pending,
        }
    }

    fn poll_timer(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.timer {
            Some(timer) => timer.poll(cx),
            None => Poll::Ready(()),
        }
    }

    /// Sets the one timer for `until`.
    fn set_timer(&mut self) {
        let at = self.instant(self.until).unwrap_or_else(|| self.far());
        match &mut self.timer {
            Some(timer) => timer.set(&self.clock, at),
            None => self.timer = Some(Timer::new(&self.clock, at)),
        }
    }

    /// Later than any process runs, and within what every platform counts.
    fn far(&self) -> Instant {
        const YEAR: Duration = Duration::from_secs(365 * 86_400);
        self.start.checked_add(YEAR).unwrap_or(self.start)
    }

    #[inline]
    fn instant(&self, since_start: Nanos) -> Option<Instant> {
        self.start.checked_add(since_start.duration())
    }
}

/// Time and decisions.
impl<E> Run<'_, E> {
    fn elapsed(&self) -> Nanos {
        Nanos::from_duration(self.clock.now().saturating_duration_since(self.start))
    }

    #[inline]
    fn deadline(&self) -> Nanos {
        let own = self.spec.policy().deadline_nanos();
        match self.around.left {
            Some(left) => own.min(Nanos::from_duration(left)),
            None => own,
        }
    }

    /// When the attempt that starts now is cut.
    #[inline]
    fn cut(&self) -> Nanos {
        let deadline = self.deadline();
        match self.spec.policy().attempt_timeout_nanos() {
            Some(timeout) => deadline.min(self.ledger.elapsed_nanos().plus(timeout)),
            None => deadline,
        }
    }

    /// What must hold before the first attempt, beside what is decided.
    #[inline]
    fn check(&mut self) -> Result<(), Stopped<E>> {
        let checked = match self.key {
            _ if self.clock.is_missing() => Err(PolicyError::NoClock),
            Key::Empty => Err(PolicyError::EmptyKey),
            Key::Unnamed => Err(PolicyError::EmptyName),
            _ if self.spec.is_validated() => Ok(()),
            _ => self.spec.policy().validate(),
        };
        checked.map_err(|error| self.stop(Stop::invalid(error)))
    }

    fn situation(&self) -> Situation {
        let Around { left, depth, product } = self.around;
        let situation = Situation::new()
            .safety(self.spec.safety())
            .effects(self.effects)
            .nested(depth + 1, product);
        match left {
            Some(left) => situation.left_outside(left),
            None => situation,
        }
    }

    #[inline]
    fn decide(&mut self, failure: Option<&Failure>) -> Decision {
        match failure {
            // The id is made only where its draw is wanted.
            None => decide_start(self.spec.policy(), &self.ledger, &self.situation()),
            Some(_) => {
                let id = self.id();
                decide(self.spec.policy(), &self.ledger, &self.situation(), &id, failure)
            }
        }
    }

    fn id(&mut self) -> OperationId {
        if let Key::Derived(key) = self.key {
            return OperationId::keyed(self.spec.name().clone(), key);
        }
        let process = self.clock.process();
        if self.sequence == 0 {
            self.sequence = process.count();
        }
        OperationId::counted(self.spec.name().clone(), process.id(), self.sequence)
    }
}

/// Outcomes.
impl<E> Run<'_, E> {
    #[inline]
    fn succeed(&mut self) {
        self.phase = Phase::Done;
        if self.is_observed() {
            let (attempts, elapsed) = (self.ledger.attempts(), self.elapsed().duration());
            let operation = &self.id();
            self.trace.succeeded(attempts);
            self.tell(|observer| {
                observer.succeeded(&Succeeded { operation, attempts, elapsed });
            });
        }
    }

    #[cold]
    fn fail<T>(
        &mut self,
        failure: Failure,
        error: Option<E>,
        describe: Option<Describe<E>>,
    ) -> ControlFlow<Result<T, Stopped<E>>> {
        let elapsed = self.elapsed();
        self.ledger.attempt_failed(elapsed.duration(), &failure);
        let decision = self.decide(Some(&failure));
        if self.is_observed() {
            self.attempt_failed(&failure, error.as_ref(), describe, &decision);
        }
        let attempt = self.ledger.attempts();
        let delay = match &decision {
            Decision::ScheduleRetry(wait) => Some(Nanos::from_duration(wait.delay())),
            _ => None,
        };
        self.remember(FailedAttempt { attempt, elapsed, failure, error, delay });
        match decision {
            Decision::ScheduleRetry(wait) => {
                self.until = Nanos::from_duration(wait.start());
                self.effects = 0;
                self.phase = Phase::Yield;
                ControlFlow::Continue(())
            }
            Decision::Stop(stop) => ControlFlow::Break(Err(self.stop(stop))),
            // Not an answer to a failure.
            Decision::StartAttempt => ControlFlow::Continue(()),
        }
    }

    /// The most recent failures; one allocation, at the first.
    fn remember(&mut self, failed: FailedAttempt<E>) {
        if self.failures.capacity() == 0 {
            let most = usize::try_from(self.spec.policy().get_max_attempts()).unwrap_or(REMEMBERED);
            self.failures.reserve_exact(most.clamp(1, REMEMBERED));
        }
        if self.failures.len() == REMEMBERED {
            self.failures.remove(0);
        }
        self.failures.push(failed);
    }

    #[cold]
    fn stop(&mut self, stop: Stop) -> Stopped<E> {
        self.phase = Phase::Done;
        let (id, attempts) = (self.id(), self.ledger.attempts());
        let elapsed = if attempts == 0 { Nanos::ZERO } else { self.elapsed() };
        if self.is_observed() {
            let (operation, elapsed) = (&id, elapsed.duration());
            let failure = self.failures.last().map(|failed| &failed.failure);
            let event = OperationStopped { operation, attempts, elapsed, stop: &stop, failure };
            self.trace.stopped(&event);
            self.tell(|observer| observer.stopped(&event));
        }
        let failures = std::mem::take(&mut self.failures);
        Stopped::new(Report { id, stop, attempts, elapsed, failures })
    }
}

/// Telling.
impl<E> Run<'_, E> {
    #[inline]
    fn is_observed(&self) -> bool {
        let observers =
            self.retrier.as_ref().is_some_and(|retrier| !retrier.observers().is_empty());
        observers || self.trace.is_enabled()
    }

    fn tell(&self, event: impl Fn(&dyn crate::observe::Observer)) {
        if let Some(retrier) = &self.retrier {
            retrier.observers().tell(event);
        }
    }

    #[cold]
    fn attempt_started(&mut self) {
        let operation = &self.id();
        let event = AttemptStarted {
            operation,
            attempt: self.ledger.attempts(),
            elapsed: self.ledger.elapsed(),
            policy: self.spec.policy(),
        };
        self.trace.attempt_started(&event);
        self.tell(|observer| observer.attempt_started(&event));
    }

    fn attempt_failed(
        &mut self,
        failure: &Failure,
        error: Option<&E>,
        describe: Option<Describe<E>>,
        decision: &Decision,
    ) {
        let operation = &self.id();
        let text = error.zip(describe).map(|(error, describe)| Described { error, describe });
        let event = AttemptFailed {
            operation,
            attempt: self.ledger.attempts(),
            elapsed: self.ledger.elapsed(),
            failure,
            error: text.as_ref().map(|text| text as &dyn fmt::Display),
            decision,
        };
        self.trace.attempt_failed(&event);
        self.tell(|observer| observer.attempt_failed(&event));
    }

    #[cold]
    fn cancelled(&mut self) {
        let operation = &self.id();
        let event = Cancelled {
            operation,
            attempts: self.ledger.attempts(),
            elapsed: self.elapsed().duration(),
            in_attempt: self.phase == Phase::Attempt,
            panicked: std::thread::panicking(),
            failure: self.failures.last().map(|failed| &failed.failure),
        };
        self.trace.cancelled(&event);
        self.tell(|observer| observer.cancelled(&event));
    }
}

/// An operation that ends without an outcome was cancelled: its future was
/// dropped, or its body panicked.
impl<E> Drop for Run<'_, E> {
    #[inline]
    fn drop(&mut self) {
        if self.phase != Phase::Done && self.is_observed() {
            self.cancelled();
        }
    }
}

struct Described<'a, E> {
    error: &'a E,
    describe: Describe<E>,
}

impl<E> fmt::Display for Described<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self.describe)(self.error, f)
    }
}

impl<E> fmt::Debug for Run<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").field("ledger", &self.ledger).finish_non_exhaustive()
    }
}
