//! The state machine: no clock, no lock.

use std::time::{Duration, Instant};

use super::outcome::Outcome;
use super::quick::Quick;
use super::settings::Settings;
use super::state::{State, Transition};
use super::tally::Tally;
use super::ticket::Ticket;

#[derive(Debug)]
pub(super) struct Machine {
    phase: Phase,
    /// Openings so far. Wraps after 136 years of one a second.
    generation: u32,
    /// Openings by itself since it was last closed.
    streak: u32,
    tally: Tally,
}

#[derive(Debug)]
enum Phase {
    Closed,
    /// `None`: until it is closed by hand.
    Open(Option<Instant>),
    HalfOpen(Probes),
}

/// The probes of one generation.
#[derive(Debug, Default)]
struct Probes {
    /// Those that are out. A lease without an end is longer than the platform's
    /// clock can count.
    leases: Vec<Lease>,
    succeeded: u32,
    /// Tells them apart.
    made: u64,
}

#[derive(Debug)]
struct Lease {
    id: u64,
    end: Option<Instant>,
}

#[derive(Debug)]
pub(super) struct Admitted {
    pub(super) ticket: Ticket,
    /// Whether the breaker became half-open by it.
    pub(super) half_opened: bool,
}

#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) until: Option<Instant>,
    /// Half-open with all probes out, rather than open.
    pub(super) is_full: bool,
}

impl Machine {
    pub(super) fn new(settings: &Settings) -> Self {
        Self { phase: Phase::Closed, generation: 0, streak: 0, tally: Tally::new(settings.trip) }
    }

    pub(super) fn admit(&mut self, settings: &Settings, now: Instant) -> Result<Admitted, Refusal> {
        let generation = self.generation;
        let half_opened = self.half_open_if_due(now);
        match &mut self.phase {
            Phase::Closed => Ok(Admitted { ticket: Ticket::Counted { generation }, half_opened }),
            Phase::Open(until) => Err(Refusal { until: *until, is_full: false }),
            Phase::HalfOpen(probes) => match probes.admit(settings, now) {
                Ok(id) => Ok(Admitted { ticket: Ticket::Probe { generation, id }, half_opened }),
                Err(until) => Err(Refusal { until, is_full: true }),
            },
        }
    }

    pub(super) fn settle(
        &mut self,
        settings: &Settings,
        now: Instant,
        ticket: Ticket,
        outcome: Outcome,
    ) -> Option<Transition> {
        match (&mut self.phase, ticket) {
            (Phase::Closed, Ticket::Counted { generation }) if generation == self.generation => {
                let failed = match outcome {
                    Outcome::Success => false,
                    Outcome::Failure => true,
                    Outcome::Ignored => return None,
                };
                let opens = self.tally.count(now, failed);
                opens.then(|| self.open_by_itself(settings, now))
            }
            (Phase::HalfOpen(probes), Ticket::Probe { generation, id })
                if generation == self.generation =>
            {
                let lease = probes.give_back(id).filter(|lease| lease.holds(now));
                match (lease, outcome) {
                    (None, _) | (_, Outcome::Ignored) => None,
                    (Some(_), Outcome::Failure) => Some(self.open_by_itself(settings, now)),
                    (Some(_), Outcome::Success) => {
                        probes.succeeded += 1;
                        let closes = probes.succeeded >= settings.probes;
                        closes.then(|| self.close())
                    }
                }
            }
            _ => None,
        }
    }

    /// A probe that came to nothing.
    pub(super) fn give_back(&mut self, ticket: Ticket) {
        if let (Phase::HalfOpen(probes), Ticket::Probe { generation, id }) =
            (&mut self.phase, ticket)
            && generation == self.generation
        {
            probes.give_back(id);
        }
    }

    pub(super) fn open_by_hand(&mut self, now: Instant, open_for: Option<Duration>) -> Transition {
        self.open(open_for.and_then(|open_for| now.checked_add(open_for)))
    }

    pub(super) fn close_by_hand(&mut self) -> Option<Transition> {
        let was_closed = matches!(self.phase, Phase::Closed);
        let closed = self.close();
        (!was_closed).then_some(closed)
    }

    pub(super) fn state(&self, settings: &Settings, now: Instant) -> State {
        match &self.phase {
            Phase::Closed => State::Closed,
            Phase::Open(until) if is_over(*until, now) => State::HalfOpen { free: settings.probes },
            Phase::Open(until) => State::Open { until: *until },
            Phase::HalfOpen(probes) => State::HalfOpen { free: probes.free(settings, now) },
        }
    }

    pub(super) fn quick(&self) -> Quick {
        match self.phase {
            Phase::Closed => Quick::of_closed(self.generation, self.tally.is_clean()),
            Phase::Open(_) | Phase::HalfOpen(_) => Quick::GUARDED,
        }
    }

    pub(super) const fn generation(&self) -> u32 {
        self.generation
    }

    fn half_open_if_due(&mut self, now: Instant) -> bool {
        let is_due = matches!(self.phase, Phase::Open(until) if is_over(until, now));
        if is_due {
            self.phase = Phase::HalfOpen(Probes::default());
        }
        is_due
    }

    fn open_by_itself(&mut self, settings: &Settings, now: Instant) -> Transition {
        let streak = self.streak.saturating_add(1);
        let period = settings.open_period(streak, self.generation.wrapping_add(1));
        self.streak = streak;
        self.open(now.checked_add(period))
    }

    /// An end that the platform's clock cannot count to is none.
    fn open(&mut self, until: Option<Instant>) -> Transition {
        self.generation = self.generation.wrapping_add(1);
        self.phase = Phase::Open(until);
        self.tally.clear();
        Transition::Opened { generation: self.generation, until }
    }

    fn close(&mut self) -> Transition {
        self.phase = Phase::Closed;
        self.streak = 0;
        self.tally.clear();
        Transition::Closed { generation: self.generation }
    }
}

impl Probes {
    /// The id of a new probe, or when the first place is free.
    fn admit(&mut self, settings: &Settings, now: Instant) -> Result<u64, Option<Instant>> {
        if self.taken() >= settings.probes {
            self.leases.retain(|lease| lease.holds(now));
        }
        if self.taken() >= settings.probes {
            return Err(self.leases.iter().filter_map(|lease| lease.end).min());
        }
        self.made += 1;
        self.leases.push(Lease { id: self.made, end: now.checked_add(settings.lease) });
        Ok(self.made)
    }

    fn give_back(&mut self, id: u64) -> Option<Lease> {
        let at = self.leases.iter().position(|lease| lease.id == id)?;
        Some(self.leases.swap_remove(at))
    }

    /// Places of probes that succeeded, or are out. There are never more than
    /// `probes` of them, which is far from 2³².
    fn taken(&self) -> u32 {
        self.succeeded + self.leases.len() as u32
    }

    fn free(&self, settings: &Settings, now: Instant) -> u32 {
        let out = self.leases.iter().filter(|lease| lease.holds(now)).count() as u32;
        settings.probes.saturating_sub(self.succeeded + out)
    }
}

impl Lease {
    fn holds(&self, now: Instant) -> bool {
        !is_over(self.end, now)
    }
}

fn is_over(end: Option<Instant>, now: Instant) -> bool {
    end.is_some_and(|end| now >= end)
}
