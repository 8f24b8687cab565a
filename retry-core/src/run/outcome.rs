//! How an attempt ends: with a result, a wait, or the end of the operation.

use std::sync::Arc;

use thin_vec::ThinVec;

use super::{Phase, Run, protection};
use crate::classify::{Failure, Kind};
use crate::decide::{Decision, Deferral, Refusal, Situation, Wait, decide};
use crate::judge::{Describe, Judged};
use crate::nanos::Nanos;
use crate::scope::{self, Told};
use crate::stop::{Stop, StopReason};
use crate::stopped::{FailedAttempt, REMEMBERED, Report, Stopped};

/// A failed attempt, and what follows.
pub(crate) struct Failed<E> {
    pub(crate) failure: Failure,
    pub(crate) error: Option<E>,
    #[cfg_attr(not(feature = "durable"), expect(dead_code, reason = "only records tell"))]
    pub(crate) describe: Option<Describe<E>>,
    pub(crate) decision: Decision,
    /// What held around the operation, the budget's refusal included.
    #[cfg_attr(not(feature = "durable"), expect(dead_code, reason = "only records tell"))]
    pub(crate) situation: Situation,
}

/// The deferral that is part of a wait for a token.
pub(crate) fn deferral_of(wait: &Wait) -> Option<Deferral> {
    let (reason, until) = (StopReason::BudgetExhausted, Nanos::from_duration(wait.start()));
    wait.is_deferred().then_some(Deferral { reason, at: until, until })
}

impl<E> Run<'_, E> {
    #[inline]
    pub(crate) fn succeed(&mut self) {
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
        let failed = self.judge(judged, error);
        self.follow(failed).map(|stop| self.stop(stop))
    }

    /// Decides what follows a failed attempt, and tells what it was.
    pub(crate) fn judge(&mut self, judged: Judged<E>, error: Option<E>) -> Failed<E> {
        let mut situation = self.situation();
        let (failure, describe) = (situation.seen(judged.failure), judged.describe);
        let was_cut = error.is_none() && !failure.is_rejected();
        let was_cut_early = was_cut && self.ran() < self.time_of_an_attempt();
        let mut ledger = self.ledger();
        ledger.attempt_failed(self.now().duration(), &failure);
        (self.hints, self.elapsed) = (ledger.hints(), ledger.elapsed_nanos());
        let id = self.id();
        self.protected_failure(&failure, was_cut_early);
        let policy = *self.policy();
        let mut decision = decide(&policy, &ledger, &situation, &id, Some(&failure));
        if let Decision::ScheduleRetry(_) = decision
            && let Some(refusal) = self.ask_budget(failure.kind())
        {
            situation = situation.refused(refusal);
            decision = decide(&policy, &ledger, &situation, &id, Some(&failure));
        }
        if self.is_observed() {
            self.attempt_failed(&id, &failure, error.as_ref(), describe, &decision);
        }
        Failed { failure, error, describe, decision, situation }
    }

    /// Goes on as it was decided: remembers the attempt, and waits or stops.
    pub(crate) fn follow(&mut self, failed: Failed<E>) -> Option<Stop> {
        let Failed { failure, error, decision, .. } = failed;
        let (attempt, elapsed) = (self.number(), self.elapsed);
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
            return Some(stop);
        }
        self.until = wait.map_or(elapsed, |wait| wait.earliest());
        if let Some(deferral) = wait.as_ref().and_then(deferral_of) {
            self.deferred(Deferral { at: elapsed, ..deferral });
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
            protection.failed(
                &protection::Failed { failure, was_cut_early, ridden },
                now,
                observers,
            );
        }
    }

    /// How long the attempt ran: it began at the last event.
    fn ran(&self) -> Nanos {
        self.now().minus(self.elapsed)
    }

    /// How long the policy lets an attempt run that nothing shortens.
    fn time_of_an_attempt(&self) -> Nanos {
        let policy = self.policy();
        policy.attempt_timeout_nanos().unwrap_or_else(|| policy.deadline_nanos())
    }

    /// `None` where the retry has its token, or needs none.
    pub(super) fn ask_budget(&mut self, kind: Kind) -> Option<Refusal> {
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

    pub(crate) fn deferred(&mut self, deferral: Deferral) {
        if self.is_observed() {
            self.told_to_wait(&deferral);
        }
        if let Some((protection, _)) = self.protection() {
            protection.deferred(deferral);
        }
    }

    /// The most recent failures; one allocation, at the first.
    fn remember(&mut self, failed: FailedAttempt<E>) {
        let most = usize::try_from(self.policy().get_max_attempts()).unwrap_or(REMEMBERED);
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
    pub(crate) fn stop(&mut self, stop: Stop) -> Stopped<E> {
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
        Stopped::new(Report {
            id,
            stop,
            attempts,
            elapsed,
            failures,
            deferrals,
            resource,
            recorded: None,
        })
    }
}
