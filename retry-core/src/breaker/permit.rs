//! The answer to a call that asks to be let through.

use std::fmt;
use std::time::{Duration, Instant};

use super::Breaker;
use super::machine::Refusal;
use super::outcome::Outcome;
use super::state::Transition;
use super::ticket::Ticket;
use crate::classify::{Classify, Failure};
use crate::nanos::Nanos;
use crate::stop::StopReason;

/// A call that was let through. Made by [`Breaker::admit`].
///
/// [`settle`](Self::settle) it with what the call came to. One that is dropped
/// counts as nothing: where it was a probe, its place is free again.
#[must_use = "a permit that is dropped counts as nothing; end with `settle`"]
pub struct Permit {
    breaker: Breaker,
    /// `None`: settled.
    ticket: Option<Ticket>,
    half_opened: bool,
}

impl Permit {
    pub(super) fn new(breaker: Breaker, ticket: Ticket, half_opened: bool) -> Self {
        Self { breaker, ticket: Some(ticket), half_opened }
    }

    /// Counts what the call came to. Answers with the change of state that
    /// follows from it, if one does.
    ///
    /// Where the breaker has opened or closed since the call was let through,
    /// or the probe's lease has ended, nothing counts.
    pub fn settle(mut self, now: Instant, outcome: Outcome) -> Option<Transition> {
        let ticket = self.ticket.take()?;
        self.breaker.settle(now, ticket, outcome)
    }

    /// The change of state by which the call was let through:
    /// [`HalfOpened`](Transition::HalfOpened) for the first probe.
    pub fn transition(&self) -> Option<Transition> {
        match self.ticket {
            Some(Ticket::Probe { generation, .. }) if self.half_opened => {
                Some(Transition::HalfOpened { generation })
            }
            _ => None,
        }
    }

    /// Whether the call is a probe of a half-open breaker.
    pub fn is_probe(&self) -> bool {
        matches!(self.ticket, Some(Ticket::Probe { .. }))
    }

    /// The breaker that let it through.
    pub const fn breaker(&self) -> &Breaker {
        &self.breaker
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            self.breaker.give_back(ticket);
        }
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit")
            .field("breaker", &self.breaker.name())
            .field("is_probe", &self.is_probe())
            .finish()
    }
}

/// A call that was not let through: nothing was sent. Made by
/// [`Breaker::admit`].
#[derive(Clone)]
pub struct Refused {
    breaker: Breaker,
    until: Option<Instant>,
    wait: Option<Nanos>,
    is_full: bool,
}

impl Refused {
    pub(super) fn new(breaker: Breaker, refusal: Refusal, now: Instant) -> Self {
        let Refusal { until, is_full } = refusal;
        let wait = until.map(|until| Nanos::from_duration(until.saturating_duration_since(now)));
        Self { breaker, until, wait, is_full }
    }

    /// When to ask again: when the breaker will be half-open, or, where all
    /// probes are out, when the first of their leases ends. `None` where it was
    /// opened by hand until it is closed by hand.
    pub const fn until(&self) -> Option<Instant> {
        self.until
    }

    /// The time from the refusal to [`until`](Self::until).
    pub fn wait(&self) -> Option<Duration> {
        self.wait.map(Nanos::duration)
    }

    /// Whether it is half-open, and all probes are out.
    pub(crate) const fn is_full(&self) -> bool {
        self.is_full
    }

    /// The breaker that refused.
    pub const fn breaker(&self) -> &Breaker {
        &self.breaker
    }
}

/// What an operation makes of it: a stop with `circuit_open`, which took no
/// effect. Nobody retries what a breaker holds back.
impl Classify for Refused {
    fn classify(&self) -> Failure {
        Failure::permanent().no_effect().nested(StopReason::CircuitOpen)
    }

    fn text(&self) -> Option<&dyn fmt::Display> {
        Some(self)
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the circuit breaker ")?;
        match self.breaker.name() {
            "" => {}
            name => write!(f, "of {name} ")?,
        }
        match (self.is_full, self.wait) {
            (false, Some(wait)) => write!(f, "is open for another {wait:?}"),
            (false, None) => f.write_str("is open until it is closed by hand"),
            (true, Some(wait)) => write!(
                f,
                "is half-open and all its probes are out, the next one is let through \
                 in {wait:?} at the latest",
            ),
            (true, None) => f.write_str("is half-open and all its probes are out"),
        }
    }
}

impl fmt::Debug for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Refused").field(&format_args!("{self}")).finish()
    }
}

impl std::error::Error for Refused {}
