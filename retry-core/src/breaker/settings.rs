//! What a breaker goes by: judged, and no longer changed.

use std::borrow::Cow;
use std::time::Duration;

use super::open_period::OpenPeriod;
use super::outcome::Outcome;
use super::tally::Trip;
use crate::backoff::unit;
use crate::clock::Process;

/// Judged settings.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) trip: Trip,
    open_for: OpenPeriod,
    pub(super) name: Cow<'static, str>,
    /// What the open periods are drawn for.
    id: String,
    pub(super) probes: u32,
    pub(super) lease: Duration,
    pub(super) permanent: Outcome,
}

/// 10 failures in a row, 30 s, one probe, no name, this process.
impl Default for Settings {
    fn default() -> Self {
        let open_for = OpenPeriod::from(Duration::from_secs(30));
        Self::new(Trip::Consecutive(10), open_for)
            .protecting(Cow::Borrowed(""), Process::current().id())
    }
}

impl Settings {
    pub(super) const DEFAULT_PROBES: u32 = 1;
    pub(super) const DEFAULT_LEASE: Duration = Duration::from_secs(30);

    pub(super) fn new(trip: Trip, open_for: OpenPeriod) -> Self {
        Self {
            trip,
            open_for,
            name: Cow::Borrowed(""),
            id: String::new(),
            probes: Self::DEFAULT_PROBES,
            lease: Self::DEFAULT_LEASE,
            permanent: Outcome::Success,
        }
    }

    /// With the name of what is protected, and the process that it is drawn for.
    pub(super) fn protecting(self, name: Cow<'static, str>, process: u64) -> Self {
        Self { id: format!("{name}#{process:016x}"), name, ..self }
    }

    /// How long the breaker stays open by its `generation`-th opening, the
    /// `streak`-th by itself since it was last closed.
    pub(super) fn open_period(&self, streak: u32, generation: u32) -> Duration {
        self.open_for.draw(streak, unit(&[&self.id], generation))
    }
}
