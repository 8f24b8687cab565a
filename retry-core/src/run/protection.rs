//! What an operation holds of the resource that it calls.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use thin_vec::ThinVec;

use crate::breaker::{Outcome, Permit, Transition};
use crate::budget::{Caller, Reservation, Token};
use crate::classify::{Class, Failure, Kind};
use crate::decide::{Deferral, OnRefusal, Refusal};
use crate::observe::{BreakerChanged, BreakerState, BudgetChanged, Observers};
use crate::resource::Resource;
use crate::scope::Frame;
use crate::stop::StopReason;

/// Dropped with the operation: a permit counts as nothing, a token that was not
/// spent goes back, a place in line is given up.
pub(super) struct Protection {
    resource: Arc<Resource>,
    on_refusal: OnRefusal,
    /// Whether the operation runs inside an attempt on the same resource.
    is_inside: bool,
    /// Whether that one is a probe.
    is_inside_probe: bool,
    /// Whether its attempt goes with the probe of that one.
    rides: bool,
    /// Looked up before the first attempt.
    caller: Option<Caller>,
    /// Of the attempt that runs.
    permit: Option<Permit>,
    /// Of the retry that is scheduled, or runs.
    token: Option<Token>,
    /// Of the retry that is scheduled.
    place: Option<Reservation>,
    /// When to ask the breaker again.
    closed_until: Option<Instant>,
    deferrals: ThinVec<Deferral>,
    /// Those that a record tells of.
    deferred_before: u32,
}

impl Protection {
    pub(super) fn new(
        resource: Arc<Resource>,
        on_refusal: Option<OnRefusal>,
        outside: u16,
    ) -> Self {
        let on_refusal = on_refusal.unwrap_or_else(|| resource.get_on_refusal());
        let is_inside = outside & !Frame::PROBE == resource.id();
        let is_inside_probe = is_inside && outside & Frame::PROBE != 0;
        Self {
            resource,
            on_refusal,
            is_inside,
            is_inside_probe,
            rides: false,
            caller: None,
            permit: None,
            token: None,
            place: None,
            closed_until: None,
            deferrals: ThinVec::new(),
            deferred_before: 0,
        }
    }

    pub(super) fn resource(&self) -> &str {
        self.resource.name()
    }

    /// What operations inside are told.
    pub(super) fn resource_id(&self) -> u16 {
        let is_probe = self.rides || self.permit.as_ref().is_some_and(Permit::is_probe);
        if is_probe { self.resource.id() | Frame::PROBE } else { self.resource.id() }
    }

    /// Whose share of the budget it uses, unless that was said before.
    pub(super) fn use_caller(&mut self, caller: &str) {
        if self.caller.is_none() {
            self.caller = self.resource.get_budget().map(|budget| budget.caller(caller));
        }
    }

    pub(super) const fn rides(&self) -> bool {
        self.rides
    }

    /// Asks the breaker before an attempt. Refused, `Err` has the time to ask
    /// again, if there is one.
    pub(super) fn admit(
        &mut self,
        is_first: bool,
        now: Instant,
        observers: &Observers,
    ) -> Result<(), Option<Instant>> {
        let Some(breaker) = self.resource.get_breaker() else {
            return Ok(());
        };
        match breaker.admit(now) {
            Ok(permit) => {
                self.tell_change(permit.transition(), observers);
                self.permit = Some(permit);
                self.rides = false;
                Ok(())
            }
            // A probe is one call: what goes with it is not repeated, nor does it
            // wait for the probe that it is part of.
            Err(refused) if self.is_inside_probe && refused.is_full() => {
                self.rides = true;
                if is_first { Ok(()) } else { Err(None) }
            }
            Err(refused) => Err(refused.until()),
        }
    }

    /// An attempt begins.
    pub(super) fn begin(&mut self, is_first: bool, now: Instant) {
        match (&self.caller, &mut self.token) {
            (Some(_), _) if is_first && self.is_inside => {}
            (Some(caller), _) if is_first => caller.first_attempt(now),
            (_, Some(token)) => token.spend(),
            _ => {}
        }
    }

    /// An attempt failed.
    pub(super) fn failed(&mut self, failed: &Failed<'_>, now: Instant, observers: &Observers) {
        let Failed { failure, was_cut_early, ridden } = *failed;
        if let (Some(permit), Some(breaker)) = (self.permit.take(), self.resource.get_breaker()) {
            let outcome = match ridden {
                _ if was_cut_early => Outcome::Ignored,
                // The breaker of an operation that went with this probe is this one.
                Some(reason) if reason.is_given_up() => Outcome::Failure,
                Some(StopReason::FailPermanent) => breaker.outcome_of(&Failure::permanent()),
                _ => breaker.outcome_of(failure),
            };
            self.tell_change(permit.settle(now, outcome), observers);
        }
        // What the attempt took is used up.
        self.token = None;
        if let Some(caller) = &self.caller
            && failure.class() == Class::Transient
            && !was_cut_early
        {
            caller.failed(failure, now);
        }
    }

    /// A retry is decided: takes its token, or a place in line for it. `Some`
    /// where there is none now, with the time at which there will be.
    pub(super) fn ask_budget(
        &mut self,
        kind: Kind,
        now: Instant,
        observers: &Observers,
    ) -> Option<Option<Instant>> {
        let caller = self.caller.as_ref()?;
        let refused = match self.on_refusal {
            OnRefusal::Stop => match caller.take(kind, now) {
                Ok(token) => {
                    self.token = Some(token);
                    None
                }
                Err(empty) => Some(empty.next()),
            },
            OnRefusal::Defer => match caller.reserve(kind, now) {
                Ok(place) => {
                    let refused = place.refusal().map(|_| Some(place.at()));
                    self.place = Some(place);
                    refused
                }
                Err(empty) => Some(empty.next()),
            },
        };
        if let (false, Some(budget)) = (observers.is_empty(), self.resource.get_budget()) {
            let (resource, tokens) = (self.resource.name(), budget.stats(now).held);
            let event = BudgetChanged { resource, tokens, refused: refused.is_some() };
            observers.tell(|observer| observer.budget_changed(&event));
        }
        refused
    }

    /// No retry follows.
    pub(super) fn give_back(&mut self) {
        (self.token, self.place) = (None, None);
    }

    /// Whether it matters when the operation succeeds: to a breaker, whose window
    /// may be one of time. To a budget the time of the last event is as good.
    pub(super) const fn settles_by_time(&self) -> bool {
        self.permit.is_some()
    }

    pub(super) fn succeeded(&mut self, attempts: u32, now: Instant, observers: &Observers) {
        if let Some(permit) = self.permit.take() {
            self.tell_change(permit.settle(now, Outcome::Success), observers);
        }
        if let Some(token) = self.token.take() {
            token.refund();
        }
        if let Some(caller) = &self.caller {
            caller.succeeded(attempts, now);
        }
    }

    /// A refusal, as this operation takes it.
    pub(super) fn refusal(&self, refusal: Refusal) -> Refusal {
        let deferrals = u32::try_from(self.deferrals.len()).unwrap_or(u32::MAX);
        let deferrals = deferrals.saturating_add(self.deferred_before);
        refusal.on_refusal(self.on_refusal).deferrals(deferrals)
    }

    /// How often the operation was deferred in other processes.
    #[cfg(feature = "durable")]
    pub(super) fn carry(&mut self, deferred_before: u32) {
        self.deferred_before = deferred_before;
    }

    pub(super) fn deferred(&mut self, deferral: Deferral) {
        self.deferrals.push(deferral);
    }

    /// Waits for the breaker.
    pub(super) fn close_until(&mut self, until: Instant) {
        self.closed_until = Some(until);
    }

    pub(super) const fn has_place(&self) -> bool {
        self.place.is_some()
    }

    /// Whether what was refused is there. Pending, it says when to ask again; it
    /// may wake earlier.
    pub(super) fn poll_permit(
        &mut self,
        cx: &mut Context<'_>,
        now: Instant,
    ) -> Result<(), Instant> {
        if let Some(place) = &mut self.place {
            return match place.poll_ready(cx, now) {
                Poll::Ready(token) => {
                    (self.token, self.place) = (Some(token), None);
                    Ok(())
                }
                Poll::Pending => Err(place.at()),
            };
        }
        match self.closed_until {
            Some(until) if now < until => Err(until),
            _ => {
                self.closed_until = None;
                Ok(())
            }
        }
    }

    pub(super) fn take_deferrals(&mut self) -> ThinVec<Deferral> {
        std::mem::take(&mut self.deferrals)
    }

    fn tell_change(&self, transition: Option<Transition>, observers: &Observers) {
        let Some(transition) = transition else {
            return;
        };
        let state = match transition {
            Transition::Opened { .. } => BreakerState::Open,
            Transition::HalfOpened { .. } => BreakerState::HalfOpen,
            Transition::Closed { .. } => BreakerState::Closed,
        };
        let (resource, openings) = (self.resource.name(), u64::from(transition.generation()));
        let event = BreakerChanged { resource, state, openings };
        observers.tell(|observer| observer.breaker_changed(&event));
    }
}

/// What a resource learns of a failed attempt.
pub(super) struct Failed<'a> {
    pub(super) failure: &'a Failure,
    /// Whether it was cut before it had the time that its policy gives one.
    pub(super) was_cut_early: bool,
    /// Why an operation that went with its probe stopped.
    pub(super) ridden: Option<StopReason>,
}
