//! An operation that goes on where its record stands.

use std::sync::Arc;
use std::task::{Context, Poll};

use thin_vec::ThinVec;

use super::handed::Carried;
use super::{Admission, Phase, Run};
use crate::classify::Kind;
use crate::decide::{Decision, decide_planned, decide_start};
use crate::nanos::Nanos;
use crate::record::{Head, StopText};
use crate::scope::{self, Frame};
use crate::stop::{Stop, StopReason};
use crate::stopped::{Report, Stopped};

impl<E> Run<'_, E> {
    /// Goes on where the record stands: with its numbers, its counts, its time and
    /// the wait that it planned. A retry needs a token of this process.
    pub(crate) fn carry(&mut self, head: &Head) -> Admission {
        let elapsed = Nanos::from_duration(head.elapsed);
        let attempts = head.attempts();
        let left = head.policy.deadline_nanos().minus(elapsed);
        let resource = self.frame.resource;
        self.frame = Frame::of_operation(self.clock(), left);
        (self.frame.resource, self.frame.attempt) = (resource, attempts.max(1));
        (self.hints, self.elapsed) = (head.hints, elapsed);
        self.until = Nanos::from_duration(head.planned.unwrap_or_default());
        self.phase = if attempts > 0 { Phase::Yield } else { Phase::Fresh };
        if let Some(handed) = &mut *self.held.handed {
            handed.has_begun = attempts > 0;
            handed.carried =
                Some(Carried { policy: head.policy, elapsed, released: head.released });
        }
        let name = self.spec.name();
        let planned = self.instant(self.until);
        if let Some(handed) = &mut *self.held.handed
            && let Some((protection, _)) = handed.protection()
        {
            protection.use_caller(name);
            protection.carry(head.deferrals);
            if attempts == 0
                && self.until > elapsed
                && let Some(planned) = planned
            {
                protection.close_until(planned);
                self.phase = Phase::Deferred;
            }
        }
        if attempts == 0 {
            return Admission::Granted;
        }
        match self.ask_budget(Kind::Other) {
            Some(refusal) => self.judge_start(Some(refusal)),
            None => Admission::Granted,
        }
    }

    /// Why it cannot wait for its planned attempt here, if it cannot.
    pub(crate) fn planned_too_late(&self) -> Option<Stop> {
        let start = self.until.max(self.elapsed).duration();
        decide_planned(self.policy(), &self.ledger(), &self.situation(), start)
    }

    /// What the switch says of an operation that stands there.
    pub(crate) fn switched_off(&self, head: &Head) -> Option<Stop> {
        match decide_start(&head.policy, &head.ledger(), &self.situation()) {
            Decision::Stop(stop)
                if matches!(stop.reason(), StopReason::Disabled | StopReason::Cancelled) =>
            {
                Some(stop)
            }
            _ => None,
        }
    }

    /// Whether waiting is allowed; wakes it when it no longer is.
    pub(crate) fn may_wait(&mut self, cx: &mut Context<'_>) -> bool {
        match &mut *self.held.handed {
            Some(handed) => handed.may_wait(cx.waker()),
            None => true,
        }
    }

    /// Whether it waits, for its time or for permission.
    pub(crate) const fn is_waiting(&self) -> bool {
        matches!(self.phase, Phase::Yield | Phase::Wait | Phase::Line | Phase::Deferred)
    }

    /// Logical time, as of the last event.
    pub(crate) const fn elapsed(&self) -> Nanos {
        self.elapsed
    }

    /// Ready when all its time has passed.
    pub(crate) fn poll_deadline(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.set_timer(self.end());
        self.poll_timer(cx)
    }

    /// It answers what is recorded, which is no news.
    pub(crate) fn answered(&mut self) {
        self.phase = Phase::Done;
    }

    /// The stop that its record holds. What is around it is told, and no observer:
    /// it stopped long ago.
    pub(crate) fn recorded_stop(&mut self, head: &Head, stop: &StopText) -> Stopped<E> {
        self.answered();
        if scope::is_inside() {
            scope::tell_stop(stop.reason, false);
        }
        Stopped::new(Report {
            id: self.id(),
            stop: Stop::said(stop.reason, stop.text.as_str()),
            attempts: head.attempts(),
            elapsed: Nanos::from_duration(head.elapsed),
            failures: ThinVec::new(),
            deferrals: ThinVec::new(),
            resource: self.held.resource().map(Arc::from),
            recorded: head.last_error.as_deref().map(Arc::from),
        })
    }
}
