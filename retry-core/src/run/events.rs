//! What an operation tells its observers and its spans.

use std::time::Duration;

use super::{Phase, Run};
use crate::classify::Failure;
use crate::decide::{Decision, Deferral};
use crate::judge::Describe;
use crate::nanos::Nanos;
use crate::observe::{
    AttemptFailed, AttemptStarted, Cancelled, Deferred, Observer, OperationStopped, Succeeded,
    contain,
};
use crate::operation_id::OperationId;
use crate::stop::Stop;

impl<E> Run<'_, E> {
    #[inline]
    pub(super) fn is_observed(&self) -> bool {
        let observers =
            self.held.handed.as_ref().is_some_and(|handed| !handed.observers().is_empty());
        observers || self.trace.is_enabled()
    }

    fn tell(&self, event: impl Fn(&dyn Observer)) {
        if let Some(handed) = &*self.held.handed {
            handed.observers().tell(event);
        }
    }

    fn depth(&self) -> u32 {
        u32::from(self.frame.depth)
    }

    /// Of the current attempt numbers, this operation's included.
    fn product(&self) -> u32 {
        self.frame.product.saturating_mul(self.attempts().max(1))
    }

    /// Since the end of the attempt before.
    fn waited(&self) -> Duration {
        let failures = self.held.failures.as_ref();
        match failures.and_then(|failures| failures.last()) {
            Some(failed) => self.elapsed.minus(failed.elapsed).duration(),
            None => Duration::ZERO,
        }
    }

    #[cold]
    pub(super) fn attempt_started(&mut self) {
        let (operation, policy) = (&self.id(), *self.policy());
        let event = AttemptStarted {
            operation,
            attempt: self.number(),
            elapsed: self.elapsed.duration(),
            waited: self.waited(),
            policy: &policy,
            resource: self.held.resource(),
            depth: self.depth(),
            product: self.product(),
        };
        contain(|| self.trace.attempt_started(&event));
        self.tell(|observer| observer.attempt_started(&event));
    }

    pub(super) fn attempt_failed(
        &mut self,
        operation: &OperationId,
        failure: &Failure,
        error: Option<&E>,
        describe: Option<Describe<E>>,
        decision: &Decision,
    ) {
        let event = AttemptFailed {
            operation,
            attempt: self.number(),
            elapsed: self.elapsed.duration(),
            failure,
            error: error.zip(describe).and_then(|(error, describe)| describe(error)),
            decision,
            resource: self.held.resource(),
            depth: self.depth(),
            product: self.product(),
        };
        contain(|| self.trace.attempt_failed(&event));
        self.tell(|observer| observer.attempt_failed(&event));
    }

    #[cold]
    pub(super) fn cancelled(&mut self) {
        let operation = &self.id();
        let failure = self.last_failure().copied();
        let panicked = std::thread::panicking();
        let event = Cancelled {
            operation,
            attempts: self.attempts(),
            // Whatever panicked may have been the clock.
            elapsed: if panicked { self.elapsed } else { self.now() }.duration(),
            in_attempt: self.in_attempt(),
            panicked,
            failure: failure.as_ref(),
            resource: self.held.resource(),
        };
        contain(|| self.trace.cancelled(&event));
        self.tell(|observer| observer.cancelled(&event));
    }

    #[cold]
    pub(super) fn succeeded(&mut self) {
        self.phase = Phase::Done;
        let (attempts, elapsed) = (self.attempts(), self.now().duration());
        let operation = &self.id();
        let event = Succeeded { operation, attempts, elapsed, resource: self.held.resource() };
        contain(|| self.trace.succeeded(&event));
        self.tell(|observer| observer.succeeded(&event));
    }

    pub(super) fn told_to_wait(&mut self, deferral: &Deferral) {
        let event = Deferred {
            operation: &self.id(),
            attempts: self.attempts(),
            elapsed: deferral.at(),
            reason: deferral.reason(),
            until: deferral.until(),
            resource: self.held.resource(),
        };
        contain(|| self.trace.deferred(&event));
        self.tell(|observer| observer.deferred(&event));
    }

    pub(super) fn stopped(
        &mut self,
        operation: &OperationId,
        attempts: u32,
        elapsed: Nanos,
        stop: &Stop,
    ) {
        let failure = self.last_failure().copied();
        let event = OperationStopped {
            operation,
            attempts,
            elapsed: elapsed.duration(),
            stop,
            failure: failure.as_ref(),
            resource: self.held.resource(),
            depth: self.depth(),
            product: self.product(),
        };
        contain(|| self.trace.stopped(&event));
        self.tell(|observer| observer.stopped(&event));
    }
}
