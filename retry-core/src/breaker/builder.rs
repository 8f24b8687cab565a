//! What a breaker is built from.

use std::borrow::Cow;
use std::time::Duration;

use super::Breaker;
use super::error::BreakerError;
use super::open_period::OpenPeriod;
use super::outcome::Outcome;
use super::settings::Settings;
use super::tally::Trip;
use super::window::{Share, Window};
use crate::clock::Process;

/// A breaker under construction. Made by [`Breaker::consecutive`] and
/// [`Breaker::rate`].
///
/// | setting | default |
/// |---|---|
/// | name | none |
/// | probes | 1 |
/// | lease of a probe | 30 s |
/// | permanent failures | count as success |
/// | process | this one |
#[derive(Clone, Debug)]
#[must_use = "end with `build`"]
pub struct BreakerBuilder {
    trip: Result<Trip, BreakerError>,
    open_for: OpenPeriod,
    name: Cow<'static, str>,
    process: Option<u64>,
    probes: u32,
    lease: Duration,
    permanent: Outcome,
}

impl BreakerBuilder {
    /// What is out is a list, and is searched under the lock.
    const MAX_PROBES: u32 = 1000;

    pub(super) fn consecutive(failures: u32, open_for: OpenPeriod) -> Self {
        let trip = match failures {
            0 => Err(BreakerError::NoFailures),
            _ => Ok(Trip::Consecutive(failures)),
        };
        Self::new(trip, open_for)
    }

    pub(super) fn rate(share: f64, window: Window, open_for: OpenPeriod) -> Self {
        let Window { extent, minimum } = window;
        let trip = Share::new(share)
            .and_then(|share| window.validate().map(|()| Trip::Rate { share, minimum, extent }));
        Self::new(trip, open_for)
    }

    fn new(trip: Result<Trip, BreakerError>, open_for: OpenPeriod) -> Self {
        Self {
            trip,
            open_for,
            name: Cow::Borrowed(""),
            process: None,
            probes: Settings::DEFAULT_PROBES,
            lease: Settings::DEFAULT_LEASE,
            permanent: Outcome::Success,
        }
    }

    /// The resource that it protects: for texts, and for the draw of its open
    /// periods.
    pub fn name(self, name: impl Into<Cow<'static, str>>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// How many probes a half-open breaker lets through, 1 to 1000, and how
    /// many must succeed for it to close.
    pub fn probes(self, probes: u32) -> Self {
        Self { probes, ..self }
    }

    /// How long a probe may take. After that its place is given to another,
    /// and its outcome does not count: choose longer than the slowest call that
    /// still is a good one.
    pub fn lease(self, lease: Duration) -> Self {
        Self { lease, ..self }
    }

    /// Ignores permanent failures, which count as success by default: the
    /// service answered. For a service that answers so when it is broken.
    pub fn ignore_permanent(self) -> Self {
        Self { permanent: Outcome::Ignored, ..self }
    }

    /// The process that the open periods are drawn for; this one's
    /// [`Process`] by default. Set in tests, to get the same open periods in
    /// every run.
    pub fn process(self, id: u64) -> Self {
        Self { process: Some(id), ..self }
    }

    /// The breaker, closed.
    ///
    /// # Errors
    /// The first setting that cannot be right, with the value and the fix.
    pub fn build(self) -> Result<Breaker, BreakerError> {
        let (trip, open_for) = (self.trip?, self.open_for);
        open_for.validate()?;
        let probes = self.probes;
        if probes == 0 || probes > Self::MAX_PROBES {
            return Err(BreakerError::Probes { probes });
        }
        if self.lease.is_zero() {
            return Err(BreakerError::NoLease);
        }
        let process = self.process.unwrap_or_else(|| Process::current().id());
        let mut settings = Settings::new(trip, open_for).protecting(self.name, process);
        (settings.probes, settings.lease, settings.permanent) =
            (probes, self.lease, self.permanent);
        Ok(Breaker::of(settings))
    }
}
