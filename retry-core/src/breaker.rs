//! A circuit breaker: stops calling what does not answer, and finds out by a
//! few probes when it answers again.
//!
//! | state | lets through | leaves it |
//! |---|---|---|
//! | closed | every call | to open: as many failures in a row as allowed, or the failure rate of the [`Window`] reaches its share |
//! | open | nothing | to half-open: the open period is over |
//! | half-open | as many [`probes`](BreakerBuilder::probes) as allowed | to closed: that many of them succeeded; to open: one of them failed |
//!
//! What counts is the [`Outcome`] of a call:
//!
//! | what happened | outcome | closed | half-open |
//! |---|---|---|---|
//! | it succeeded | success | ends a row of failures, counts in the rate | one success fewer to go |
//! | permanent failure: the service answered | success, or [ignored](BreakerBuilder::ignore_permanent) | as above | as above |
//! | transient failure, rejected value | failure | counts | opens again |
//! | unknown failure, nested stop, our own cancellation | ignored | – | the probe's place is free again |
//! | future dropped, or panicked | the [`Permit`] is dropped | – | the probe's place is free again |
//!
//! Each opening begins a *generation*, and only the outcome of a call that was
//! let through in the current one counts: a call that was started before the
//! breaker opened decides nothing about the probes. Each probe holds its place
//! for a [lease](BreakerBuilder::lease) at most. The place of one that never
//! settles is free again when its lease ends, and its outcome no longer counts.
//!
//! # Open periods
//!
//! An open period is a pure function of the breaker's name, the process, the
//! generation and the settings; a fleet whose breakers open together therefore
//! does not probe in step. `unit`, between 0 and N = 2³²−1, is the first four
//! bytes, big endian, of SHA-256 of `"{name}#{process}:{generation}"`: the
//! process as 16 lower-case hex digits, the generation in decimal, from 1.
//!
//! - A `Duration` d stands for d + ⌊⌊d/10⌋·unit/N⌋: at least that long, and up
//!   to a tenth longer.
//! - A [`Backoff`](crate::Backoff) stands for its delay with this `unit`, after
//!   as many attempts as the breaker has opened by itself since it was last
//!   closed: open periods that grow, with the backoff's own cap, jitter and
//!   quantum.
//! - Opened by hand, it is open for exactly as long as was said.
//!
//! # Alone
//!
//! [`Breaker::call`] does everything around one future. What has another shape
//! asks for a permit and settles it, on any clock:
//!
//! ```
//! use std::time::{Duration, Instant};
//! use retry_core::Breaker;
//! use retry_core::breaker::{Outcome, State, Transition};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let breaker = Breaker::consecutive(2, Duration::from_secs(30))
//!     .name("payments-gateway")
//!     .process(0) // one's own by default; fixed here for the sake of the text below
//!     .build()?;
//!
//! let now = Instant::now();
//! breaker.admit(now)?.settle(now, Outcome::Failure);
//! let transition = breaker.admit(now)?.settle(now, Outcome::Failure);
//! assert!(matches!(transition, Some(Transition::Opened { generation: 1, .. })));
//!
//! let refused = breaker.admit(now).unwrap_err();
//! assert_eq!(
//!     refused.to_string(),
//!     "the circuit breaker of payments-gateway is open for another 31.384407828s",
//! );
//!
//! let later = now + Duration::from_secs(33);
//! assert_eq!(breaker.state(later), State::HalfOpen { free: 1 });
//! let transition = breaker.admit(later)?.settle(later, Outcome::Success);
//! assert_eq!(transition, Some(Transition::Closed { generation: 1 }));
//! # Ok(())
//! # }
//! ```

mod builder;
mod call;
mod error;
#[cfg(all(test, retry_loom))]
mod interleavings;
mod machine;
mod open_period;
mod outcome;
mod permit;
mod quick;
mod settings;
mod state;
mod tally;
mod ticket;
mod window;

use std::fmt;
use std::future::Future;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use crate::classify::{Classify, Failure};
use crate::sync::{Arc, Mutex, MutexGuard};
use machine::Machine;
use quick::QuickCell;
use settings::Settings;
use ticket::Ticket;

pub use builder::BreakerBuilder;
pub use call::{Call, CallError};
pub use error::BreakerError;
pub use open_period::OpenPeriod;
pub use outcome::Outcome;
pub use permit::{Permit, Refused};
pub use state::{State, Transition};
pub use window::Window;

/// A circuit breaker. Clones share one state.
///
/// Built by [`consecutive`](Self::consecutive) or [`rate`](Self::rate); the
/// default one opens after 10 failures in a row, for 30 s, and has no name. The
/// [module](self) says what counts and when it opens.
///
/// Everything is exact under threads: of 100 callers who ask a half-open
/// breaker for one of 10 places at once, 10 are let through.
#[derive(Clone)]
pub struct Breaker(Arc<Shared>);

struct Shared {
    settings: Settings,
    quick: QuickCell,
    machine: Mutex<Machine>,
}

impl Breaker {
    /// A breaker that opens after `failures` failures in a row, for
    /// `open_for`: a `Duration`, or a [`Backoff`](crate::Backoff) for open
    /// periods that grow.
    ///
    /// ```
    /// use std::time::Duration;
    /// use retry_core::{Backoff, Breaker};
    ///
    /// # fn main() -> Result<(), retry_core::breaker::BreakerError> {
    /// let breaker = Breaker::consecutive(10, Duration::from_secs(30)).name("gateway").build()?;
    /// let growing = Backoff::exponential(Duration::from_secs(5)).cap(Duration::from_secs(300));
    /// let patient = Breaker::consecutive(10, growing).name("partner").probes(3).build()?;
    ///
    /// let error = Breaker::consecutive(0, Duration::from_secs(30)).build().unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "failures is 0, and a breaker that has seen no failure stays closed; \
    ///      write 1 to open at the first one",
    /// );
    /// # Ok(())
    /// # }
    /// ```
    pub fn consecutive(failures: u32, open_for: impl Into<OpenPeriod>) -> BreakerBuilder {
        BreakerBuilder::consecutive(failures, open_for.into())
    }

    /// A breaker that opens for `open_for` where `share` of the calls in the
    /// window, or more, failed. A share is above 0 and at most 1, and is rounded
    /// to a billionth once, so that 0.1 is a tenth.
    ///
    /// ```
    /// use std::time::Duration;
    /// use retry_core::Breaker;
    /// use retry_core::breaker::Window;
    ///
    /// # fn main() -> Result<(), retry_core::breaker::BreakerError> {
    /// let window = Window::time(Duration::from_secs(60)).minimum(20);
    /// let breaker = Breaker::rate(0.5, window, Duration::from_secs(30)).name("search").build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn rate(share: f64, window: Window, open_for: impl Into<OpenPeriod>) -> BreakerBuilder {
        BreakerBuilder::rate(share, window, open_for.into())
    }

    fn of(settings: Settings) -> Self {
        let machine = Machine::new(&settings);
        let quick = QuickCell::new(machine.quick());
        Self(Arc::new(Shared { settings, quick, machine: Mutex::new(machine) }))
    }

    /// Lets a call through, or says until when it does not.
    ///
    /// A closed breaker answers without its lock.
    ///
    /// # Errors
    /// The breaker is open, or half-open with all probes out.
    pub fn admit(&self, now: Instant) -> Result<Permit, Refused> {
        if let Some(generation) = self.0.quick.load().closed() {
            return Ok(Permit::new(self.clone(), Ticket::Counted { generation }, false));
        }
        match self.locked(|machine, settings| machine.admit(settings, now)) {
            Ok(admitted) => Ok(Permit::new(self.clone(), admitted.ticket, admitted.half_opened)),
            Err(refusal) => Err(Refused::new(self.clone(), refusal, now)),
        }
    }

    /// Runs a future where the breaker lets it through, and counts what it came
    /// to. Where it is dropped or panics, nothing counts.
    ///
    /// The time is that of the scoped [`Clock`](crate::Clock), or tokio's.
    /// Whether the breaker lets the call through is asked at the first poll.
    ///
    /// # Errors
    /// The future's own error, or the refusal; see [`CallError`].
    ///
    /// ```
    /// use std::time::Duration;
    /// use retry_core::breaker::CallError;
    /// use retry_core::{Breaker, Classify};
    ///
    /// #[derive(Debug, Classify)]
    /// #[retry(transient)]
    /// struct Unreachable;
    ///
    /// # fn main() -> Result<(), retry_core::breaker::BreakerError> {
    /// let breaker = Breaker::consecutive(1, Duration::from_secs(30)).build()?;
    /// # futures::executor::block_on(async {
    /// let first = breaker.call(async { Err::<(), _>(Unreachable) }).await;
    /// assert!(matches!(first, Err(CallError::Failed(Unreachable))));
    /// let second = breaker.call(async { Ok::<_, Unreachable>(()) }).await;
    /// assert!(matches!(second, Err(CallError::Refused(_))));
    /// # });
    /// # Ok(())
    /// # }
    /// ```
    pub fn call<T, E, F>(&self, future: F) -> Call<'_, F>
    where
        E: Classify,
        F: Future<Output = Result<T, E>>,
    {
        Call::new(self, future)
    }

    /// The outcome that a failure stands for, by this breaker's settings.
    pub fn outcome_of(&self, failure: &Failure) -> Outcome {
        Outcome::of(failure, self.0.settings.permanent)
    }

    /// The state at this time. Half-open as soon as the open period is over,
    /// also where nobody has called since.
    pub fn state(&self, now: Instant) -> State {
        self.locked(|machine, settings| machine.state(settings, now))
    }

    /// How often it has opened, by itself or by hand.
    pub fn openings(&self) -> u32 {
        self.locked(|machine, _| machine.generation())
    }

    /// Its name; empty where it was given none.
    pub fn name(&self) -> &str {
        &self.0.settings.name
    }

    /// Opens it by hand for exactly this long; `None` until it is closed by
    /// hand. Calls that are under way no longer count.
    pub fn open(&self, now: Instant, open_for: Option<Duration>) -> Transition {
        self.locked(|machine, _| machine.open_by_hand(now, open_for))
    }

    /// Closes it by hand, and forgets what it counted. `None` where it was
    /// closed.
    pub fn close(&self) -> Option<Transition> {
        self.locked(|machine, _| machine.close_by_hand())
    }

    fn settle(&self, now: Instant, ticket: Ticket, outcome: Outcome) -> Option<Transition> {
        if self.0.quick.load().is_settled_by(ticket, outcome) {
            return None;
        }
        self.locked(|machine, settings| machine.settle(settings, now, ticket, outcome))
    }

    fn give_back(&self, ticket: Ticket) {
        if matches!(ticket, Ticket::Probe { .. }) {
            self.locked(|machine, _| machine.give_back(ticket));
        }
    }

    /// One step of the state machine.
    fn locked<R>(&self, step: impl FnOnce(&mut Machine, &Settings) -> R) -> R {
        let mut machine = self.0.machine();
        let done = step(&mut machine, &self.0.settings);
        self.0.quick.publish(machine.quick());
        done
    }
}

impl Shared {
    /// A step that panics, in a backoff of the author's, has changed nothing
    /// that must fit together.
    fn machine(&self) -> MutexGuard<'_, Machine> {
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Breaker {
    fn default() -> Self {
        Self::of(Settings::default())
    }
}

impl fmt::Debug for Breaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Breaker")
            .field("name", &self.name())
            .field("openings", &self.openings())
            .finish_non_exhaustive()
    }
}
