//! Time: read, waited for, and replaced in tests.

mod process;
#[cfg(feature = "tokio")]
mod tokio_clock;
mod virtual_clock;
mod waiting;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use crate::scope::Scoped;

pub use process::Process;
#[cfg(feature = "tokio")]
pub use tokio_clock::TokioClock;
pub use virtual_clock::VirtualClock;
pub(crate) use waiting::Waiting;

/// A wait in progress. Made by [`Clock::sleep_until`].
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Where an operation gets its time from.
///
/// Without one, operations run on tokio's clock (feature `tokio`, on by
/// default), and so on its paused clock in a test. Implement the two methods
/// for any other runtime, hand it to a [`Retrier`](crate::Retrier), or put it
/// under operations that were handed none with [`scope`](Self::scope).
///
/// ```
/// use std::time::{Duration, Instant};
/// use retry_core::Clock;
/// use retry_core::clock::Sleep;
///
/// /// A thread for every wait: simple, and independent of any runtime.
/// struct ThreadClock;
///
/// impl Clock for ThreadClock {
///     fn now(&self) -> Instant {
///         Instant::now()
///     }
///
///     fn sleep_until(&self, at: Instant) -> Sleep {
///         let (done, wait) = futures::channel::oneshot::channel();
///         std::thread::spawn(move || {
///             std::thread::sleep(at.saturating_duration_since(Instant::now()));
///             let _ = done.send(());
///         });
///         Box::pin(async move {
///             let _ = wait.await;
///         })
///     }
/// }
/// ```
pub trait Clock: Send + Sync + 'static {
    /// The time now. It never runs back.
    fn now(&self) -> Instant;

    /// A future that is ready once [`now`](Self::now) has reached `at`.
    fn sleep_until(&self, at: Instant) -> Sleep;

    /// The time of the calendar: for dates in headers, never for deadlines.
    fn utc(&self) -> SystemTime {
        SystemTime::now()
    }

    /// The process that operations without a key are counted in.
    fn process(&self) -> &Process {
        Process::current()
    }

    /// Called when everything in a [`scope`](Self::scope) waits. A clock whose
    /// time stands still moves on to its next timer here.
    fn idle(&self) {}

    /// Runs `future` with this clock under every operation in it that was
    /// handed no retrier with a clock of its own.
    ///
    /// The scope holds while the future is polled. A task that the future
    /// spawns is polled elsewhere and does not see it.
    ///
    /// ```
    /// use std::time::Duration;
    /// use retry_core::{Clock, Failure, Operation, Policy, StopReason};
    /// use retry_core::clock::VirtualClock;
    ///
    /// # futures::executor::block_on(async {
    /// let clock = VirtualClock::new();
    /// let policy = Policy::new(5, Duration::from_secs(3600));
    /// let operation = Operation::idempotent("poll", policy).classify(|_: &()| Failure::transient());
    /// let stopped = clock.clone().scope(operation.run(|_| async { Err::<(), ()>(()) })).await.unwrap_err();
    /// assert_eq!(stopped.reason(), StopReason::AttemptsExhausted);
    /// assert_eq!(stopped.elapsed(), clock.elapsed());
    /// # });
    /// ```
    fn scope<F: Future>(self, future: F) -> Scoped<F>
    where
        Self: Sized,
    {
        Scoped::new(Arc::new(self), future)
    }
}

impl<C: Clock + ?Sized> Clock for Arc<C> {
    fn now(&self) -> Instant {
        (**self).now()
    }

    fn sleep_until(&self, at: Instant) -> Sleep {
        (**self).sleep_until(at)
    }

    fn utc(&self) -> SystemTime {
        (**self).utc()
    }

    fn process(&self) -> &Process {
        (**self).process()
    }

    fn idle(&self) {
        (**self).idle();
    }
}

/// The clock under an operation: one that was handed over or scoped, or
/// (`None`) the runtime's, which costs no reference count.
#[derive(Clone, Default)]
pub(crate) struct ClockHandle(Option<Arc<dyn Clock>>);

impl ClockHandle {
    pub(crate) const RUNTIME: Self = Self(None);

    pub(crate) const fn shared(clock: Arc<dyn Clock>) -> Self {
        Self(Some(clock))
    }

    /// Whether no clock was given and none is compiled in.
    pub(crate) const fn is_missing(&self) -> bool {
        cfg!(not(feature = "tokio")) && self.0.is_none()
    }

    pub(crate) const fn is_runtime(&self) -> bool {
        self.0.is_none()
    }

    #[inline]
    pub(crate) fn now(&self) -> Instant {
        match &self.0 {
            Some(clock) => clock.now(),
            #[cfg(feature = "tokio")]
            None => TokioClock.now(),
            #[cfg(not(feature = "tokio"))]
            None => Instant::now(),
        }
    }

    pub(crate) fn utc(&self) -> SystemTime {
        match &self.0 {
            Some(clock) => clock.utc(),
            None => SystemTime::now(),
        }
    }

    pub(crate) fn process(&self) -> &Process {
        match &self.0 {
            Some(clock) => clock.process(),
            None => Process::current(),
        }
    }

    pub(crate) const fn get(&self) -> Option<&Arc<dyn Clock>> {
        self.0.as_ref()
    }
}

/// The calendar's time on the clock of the current scope, for dates that the
/// other side sends.
pub fn utc() -> SystemTime {
    crate::scope::clock().utc()
}
