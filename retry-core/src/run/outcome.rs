//! How an attempt ends: with a result, a wait, or the end of the operation.

use std::sync::Arc;

use thin_vec::ThinVec;

use super::protection::Failed;
use super::{Phase, Run};
use crate::classify::{Failure, Kind};
use crate::decide::{Decision, Deferral, Refusal, Wait, decide};
use crate::judge::Judged;
use crate::nanos::Nanos;
use crate::scope::{self, Told};
use crate::stop::{Stop, StopReason};
use crate::stopped::{FailedAttempt, REMEMBERED, Report, Stopped};

impl<E> Run<'_, E> {
    #[inline]
    pub(super) fn succeed(&mut self) {
        if self.phase > Phase::PlainTimed {
            self.succeed_judged();
        }
    }

    #[cold]
    fn succeed_judged(&mut self) {
        self.protected_success();
        if self.is_observed() {
            self.succeeded();
        }
    }

    /// `None` when a wait follows.
    #[cold]
    pub(super) fn fail(&mut self, judged: Judged<E>, error: Option<E>) -> Option<Stopped<E>> {
        let situation = self.situation();
        let (failure, describe) = (situation.seen(judged.failure), judged.describe);
        let was_cut = error.is_none() && !failure.is_rejected();
        let was_cut_early = was_cut && self.ran() < self.time_of_an_attempt();
        let mut ledger = self.ledger();
        ledger.attempt_failed(self.now().duration(), &failure);
        (self.hints, self.elapsed) = (ledger.hints(), ledger.elapsed_nanos());
        let id = self.id();
        self.protected_failure(&failure, was_cut_early);
        let policy = self.spec.policy();
        let mut decision = decide(policy, &ledger, &situation, &id, Some(&failure));
        if let Decision::ScheduleRetry(_) = decision
            && let Some(refusal) = self.ask_budget(failure.kind())
        {
            let situation = situation.refused(refusal);
            decision = decide(policy, &ledger, &situation, &id, Some(&failure));
        }
        if self.is_observed() {
            self.attempt_failed(&id, &failure, error.as_ref(), describe, &decision);
        }
        let (attempt, elapsed) = (self.attempts(), self.elapsed);
        let wait = match &decision {
            Decision::ScheduleRetry(wait) => Some(*wait),
            _ => None,
        };
        let delay = wait.map(|wait| Nanos::from_duration(wait.delay()));
        self.remember(FailedAttempt { attempt, elapsed, failure, error, delay });
        if let Decision::Stop(stop) = decision {
            if let Some((protection, _)) = self.protection() {
                protection.give_back();
            }
            return Some(self.stop(stop));
        }
        self.until = wait.map_or(elapsed, |wait| wait.earliest());
        if let Some(wait) = wait.filter(Wait::is_deferred) {
            let (reason, until) = (StopReason::BudgetExhausted, wait.start());
            let until = Nanos::from_duration(until);
            self.deferred(Deferral { reason, at: elapsed, until });
        }
        self.told = Told::NOTHING;
        self.phase = Phase::Yield;
        None
    }

    /// What the resource learns of a failure.
    fn protected_failure(&mut self, failure: &Failure, was_cut_early: bool) {
        let now = self.instant(self.elapsed);
        let ridden = self.told.stop().filter(|_| self.told.was_ridden());
        if let (Some(now), Some((protection, observers))) = (now, self.protection()) {
            protection.failed(&Failed { failure, was_cut_early, ridden }, now, observers);
        }
    }

    /// How long the attempt ran: it began at the last event.
    fn ran(&self) -> Nanos {
        self.now().minus(self.elapsed)
    }

    /// How long the policy lets an attempt run that nothing shortens.
    fn time_of_an_attempt(&self) -> Nanos {
        let policy = self.spec.policy();
        policy.attempt_timeout_nanos().unwrap_or_else(|| policy.deadline_nanos())
    }

    /// `None` where the retry has its token, or needs none.
    fn ask_budget(&mut self, kind: Kind) -> Option<Refusal> {
        let now = self.instant(self.elapsed)?;
        let (protection, observers) = self.protection()?;
        let next = protection.ask_budget(kind, now, observers)?;
        let next = next.map(|at| self.since_start(at));
        self.protection().map(|(protection, _)| protection.refusal(Refusal::budget(next)))
    }

    /// What the resource learns of a success.
    fn protected_success(&mut self) {
        let attempts = self.attempts();
        let settles = self.protection().is_some_and(|(protection, _)| protection.settles_by_time());
        let now = self.instant(if settles { self.now() } else { self.elapsed });
        if let (Some(now), Some((protection, observers))) = (now, self.protection()) {
            protection.succeeded(attempts, now, observers);
        }
    }

    pub(super) fn deferred(&mut self, deferral: Deferral) {
        if self.is_observed() {
            self.told_to_wait(&deferral);
        }
        if let Some((protection, _)) = self.protection() {
            protection.deferred(deferral);
        }
    }

    /// The most recent failures; one allocation, at the first.
    fn remember(&mut self, failed: FailedAttempt<E>) {
        let most = usize::try_from(self.spec.policy().get_max_attempts()).unwrap_or(REMEMBERED);
        let most = most.clamp(1, REMEMBERED);
        let failures = self.held.failures.get_or_insert_with(|| ThinVec::with_capacity(most));
        if failures.len() == REMEMBERED {
            // The last error stays, however many attempts were cut after it.
            let has_error = |failed: &FailedAttempt<E>| failed.error.is_some();
            let oldest_is_last = failures.iter().rposition(has_error) == Some(0);
            failures.remove(usize::from(oldest_is_last && !has_error(&failed)));
        }
        failures.push(failed);
    }

    #[cold]
    pub(super) fn stop(&mut self, stop: Stop) -> Stopped<E> {
        let (id, attempts) = (self.id(), self.attempts());
        let deferrals = self.protection().map(|(protection, _)| protection.take_deferrals());
        let deferrals = deferrals.unwrap_or_default();
        // Time counts from attempt 1, or from a deferral before it.
        let waited = attempts > 0 || !deferrals.is_empty();
        let elapsed = if waited { self.now() } else { Nanos::ZERO };
        self.phase = Phase::Done;
        if self.is_observed() {
            self.stopped(&id, attempts, elapsed, &stop);
        }
        // Where its error is converted, what is around it still knows.
        if scope::is_inside() {
            let ridden = self.protection().is_some_and(|(protection, _)| protection.rides());
            scope::tell_stop(stop.reason(), ridden);
        }
        let failures = self.held.failures.take().unwrap_or_default();
        let resource = self.held.resource().map(Arc::from);
        Stopped::new(Report { id, stop, attempts, elapsed, failures, deferrals, resource })
    }
}
