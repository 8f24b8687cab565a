//! Time that passes only when everything waits.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant, SystemTime};

use super::{Clock, Process, Sleep};

/// A clock for tests: its time stands still until everything in its
/// [`scope`](Clock::scope) waits, then moves to the next timer at once. Hours
/// of waiting take no time, and every run gives the same times.
///
/// Clones share one time. Operations without a key are counted from 1 in
/// process 0 of the clock, so that their ids, and thereby their delays, are the
/// same in every run.
///
/// The clock cannot see work outside its scope: where a test waits for a spawned
/// task or for a socket, make the clock [`manual`](Self::manual) and move it by
/// [`advance`](Self::advance).
///
/// ```
/// use std::time::Duration;
/// use retry_core::clock::{Clock, VirtualClock};
///
/// let clock = VirtualClock::new();
/// let day = clock.now() + Duration::from_secs(86_400);
/// futures::executor::block_on(clock.clone().scope(clock.sleep_until(day)));
/// assert_eq!(clock.elapsed(), Duration::from_secs(86_400));
/// ```
#[derive(Clone, Debug)]
pub struct VirtualClock {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// Only the distance to it is ever used.
    origin: Instant,
    process: Process,
    manual: bool,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    elapsed: Duration,
    utc: SystemTime,
    timers: BTreeMap<(Duration, u64), Waker>,
    /// Tells timers of one instant apart, in the order in which they were made.
    made: u64,
}

impl VirtualClock {
    /// A clock at zero, in process 0; its calendar begins with 1970.
    pub fn new() -> Self {
        Self::build(Process::new(0), false)
    }

    /// A clock that moves only by [`advance`](Self::advance).
    pub fn manual() -> Self {
        Self::build(Process::new(0), true)
    }

    /// A clock of another process, to test what a fleet does.
    pub fn of_process(id: u64) -> Self {
        Self::build(Process::new(id), false)
    }

    fn build(process: Process, manual: bool) -> Self {
        let state = State {
            elapsed: Duration::ZERO,
            utc: SystemTime::UNIX_EPOCH,
            timers: BTreeMap::new(),
            made: 0,
        };
        let origin = Instant::now();
        Self { shared: Arc::new(Shared { origin, process, manual, state: Mutex::new(state) }) }
    }

    /// How far the clock has moved.
    pub fn elapsed(&self) -> Duration {
        self.shared.state().elapsed
    }

    /// Moves the clock, and wakes everything whose time has come.
    ///
    /// Beyond what the platform's clock can count, time stands still.
    pub fn advance(&self, span: Duration) {
        self.shared.move_to(|state| Some(state.elapsed.saturating_add(span)));
    }

    /// Sets the calendar, as an operator or a time server does. Deadlines do
    /// not notice.
    pub fn set_utc(&self, utc: SystemTime) {
        self.shared.state().utc = utc;
    }
}

impl Default for VirtualClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Instant {
        // It never moves to where this would overflow.
        self.shared.origin + self.elapsed()
    }

    fn sleep_until(&self, at: Instant) -> Sleep {
        let at = at.saturating_duration_since(self.shared.origin);
        let made = {
            let mut state = self.shared.state();
            state.made += 1;
            state.made
        };
        Box::pin(VirtualSleep { shared: Arc::clone(&self.shared), key: (at, made) })
    }

    fn utc(&self) -> SystemTime {
        self.shared.state().utc
    }

    fn process(&self) -> &Process {
        &self.shared.process
    }

    fn idle(&self) {
        if self.shared.manual {
            return;
        }
        self.shared.move_to(|state| state.timers.keys().next().map(|&(at, _)| at));
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One step, also where several threads move the clock.
    fn move_to(&self, to: impl FnOnce(&State) -> Option<Duration>) {
        let mut due = Vec::new();
        {
            let mut state = self.state();
            let Some(to) = to(&state).filter(|to| self.origin.checked_add(*to).is_some()) else {
                return;
            };
            let by = to.saturating_sub(state.elapsed);
            state.elapsed += by;
            state.utc = state.utc.checked_add(by).unwrap_or(state.utc);
            while let Some(timer) = state.timers.first_entry().filter(|timer| timer.key().0 <= to) {
                due.push(timer.remove());
            }
        }
        // Woken without the lock: a waker may poll at once.
        due.into_iter().for_each(Waker::wake);
    }
}

struct VirtualSleep {
    shared: Arc<Shared>,
    key: (Duration, u64),
}

impl Future for VirtualSleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // Cloned and dropped without the lock: a waker may hold a task, and a
        // task a timer of this clock.
        let waker = cx.waker().clone();
        let mut state = self.shared.state();
        if state.elapsed >= self.key.0 {
            return Poll::Ready(());
        }
        let before = state.timers.insert(self.key, waker);
        drop(state);
        drop(before);
        Poll::Pending
    }
}

impl Drop for VirtualSleep {
    fn drop(&mut self) {
        let waker = self.shared.state().timers.remove(&self.key);
        drop(waker);
    }
}
