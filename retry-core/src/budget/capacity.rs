//! How many permits a second there are, and how many retries they leave room
//! for.
//!
//! A second is the current sixteenth of a second and the sixteen before it: at
//! least a whole second, and less than 63 ms more. Within any second of time,
//! first attempts are therefore never seen too few.
//!
//! A rate limiter for all calls is no help here: it would refuse first attempts
//! that find it empty, where this one counts them and refuses only retries.

use crate::nanos::Nanos;
use crate::sync::atomic::{AtomicU64, Ordering};

/// A sixteenth of a second.
const TICK: u64 = 1_000_000_000 / 16;

/// The ticks of a second, and the one under way.
const TICKS: u64 = 17;

/// A tick's count is the lower part, the tick's number the upper.
const COUNT_BITS: u32 = 24;
const COUNT_MAX: u64 = (1 << COUNT_BITS) - 1;

#[derive(Debug)]
pub(super) struct Capacity {
    permits: u64,
    /// What retries may use when there are no first attempts.
    retries: u64,
    firsts: [AtomicU64; TICKS as usize],
}

/// The retries of the last second.
#[derive(Debug, Default)]
pub(super) struct Retries([Slot; TICKS as usize]);

impl Capacity {
    pub(super) fn new(permits: u32, retries: u32) -> Self {
        let firsts = std::array::from_fn(|_| AtomicU64::new(0));
        Self { permits: permits.into(), retries: retries.into(), firsts }
    }

    pub(super) const fn permits(&self) -> u64 {
        self.permits
    }

    /// Counts a first attempt: one compare-and-swap when undisturbed.
    pub(super) fn first_attempt(&self, now: Nanos) {
        let tick = now.get() / TICK;
        let count = |slot| Slot(slot).counted(tick).map(|slot| slot.0);
        // The previous count says nothing.
        let _ = self.firsts[index(tick)].fetch_update(Ordering::Relaxed, Ordering::Relaxed, count);
    }

    /// Whether one more retry has room.
    pub(super) fn has_room(&self, retries: &Retries, now: Nanos) -> bool {
        self.room(retries)(now.get() / TICK) > 0
    }

    /// When one more retry has room behind `ahead` others, if no further first
    /// attempt is made: `now` where it has room at once.
    pub(super) fn next(&self, retries: &Retries, now: Nanos, ahead: usize) -> Nanos {
        let (tick, ahead) = (now.get() / TICK, ahead as u64);
        // So many seconds are filled by those ahead alone.
        let (seconds, ahead) = (ahead / self.retries, ahead % self.retries);
        let room = self.room(retries);
        if seconds == 0 && room(tick) > ahead {
            return now;
        }
        let later = (0..TICKS).find(|&later| room(tick + later) > ahead).unwrap_or(TICKS);
        let tick = u128::from(tick + later) + u128::from(seconds) * u128::from(TICKS);
        Nanos::saturating(tick * u128::from(TICK))
    }

    /// How many retries have room at a tick, as far as is known now.
    fn room(&self, retries: &Retries) -> impl Fn(u64) -> u64 {
        let firsts = self.firsts.each_ref().map(|slot| Slot(slot.load(Ordering::Relaxed)));
        move |tick| {
            let room = self.permits.saturating_sub(sum(&firsts, tick)).min(self.retries);
            room.saturating_sub(sum(&retries.0, tick))
        }
    }
}

impl Retries {
    pub(super) fn count(&mut self, now: Nanos) {
        let tick = now.get() / TICK;
        if let Some(slot) = self.0[index(tick)].counted(tick) {
            self.0[index(tick)] = slot;
        }
    }

    /// Takes back what was counted at `at`, where it still counts.
    pub(super) fn forget(&mut self, at: Nanos) {
        let tick = at.get() / TICK;
        let Slot(slot) = &mut self.0[index(tick)];
        if *slot >> COUNT_BITS == tick && *slot & COUNT_MAX > 0 {
            *slot -= 1;
        }
    }
}

/// A tick and what happened in it.
#[derive(Clone, Copy, Debug, Default)]
struct Slot(u64);

impl Slot {
    /// With one more at `tick`.
    const fn counted(self, tick: u64) -> Option<Self> {
        let own = self.0 >> COUNT_BITS;
        // A tick that another has replaced was a second ago: time ran back.
        if own > tick || (own == tick && self.0 & COUNT_MAX == COUNT_MAX) {
            return None;
        }
        let before = if own == tick { self.0 } else { tick << COUNT_BITS };
        Some(Self(before + 1))
    }
}

const fn index(tick: u64) -> usize {
    (tick % TICKS) as usize
}

/// What counts in the second that ends with `tick`.
fn sum(slots: &[Slot], tick: u64) -> u64 {
    let oldest = tick.saturating_sub(TICKS - 1);
    let counts = slots.iter().filter(|slot| slot.0 >> COUNT_BITS >= oldest);
    counts.map(|slot| slot.0 & COUNT_MAX).sum()
}

#[cfg(all(test, not(retry_loom)))]
mod tests {
    use super::*;

    const fn at(millis: u64) -> Nanos {
        Nanos::saturating(millis as u128 * 1_000_000)
    }

    #[test]
    fn retries_get_what_first_attempts_leave_and_never_the_reserved_part() {
        for (firsts, room) in [(0, 80), (20, 80), (50, 50), (99, 1), (100, 0), (500, 0)] {
            let (capacity, mut taken) = (Capacity::new(100, 80), Retries::default());
            (0..firsts).for_each(|_| capacity.first_attempt(at(10)));
            let mut granted = 0;
            while granted < 1000 && capacity.next(&taken, at(20), 0) == at(20) {
                taken.count(at(20));
                granted += 1;
            }
            assert_eq!(granted, room, "{firsts} first attempts");
        }
    }

    #[test]
    fn a_second_is_a_whole_second() {
        let (capacity, taken) = (Capacity::new(10, 10), Retries::default());
        (0..10).for_each(|_| capacity.first_attempt(at(60)));
        assert_eq!(capacity.next(&taken, at(1060), 0), Nanos::saturating(17 * u128::from(TICK)));
        assert_eq!(capacity.next(&taken, at(1063), 0), at(1063));
    }

    #[test]
    fn the_next_permit_comes_when_enough_has_left_the_window() {
        let (capacity, taken) = (Capacity::new(10, 10), Retries::default());
        (0..8).for_each(|_| capacity.first_attempt(at(0)));
        (0..9).for_each(|_| capacity.first_attempt(at(500)));
        // 17 seen; after the first eight have left, nine are, and one has room.
        assert_eq!(capacity.next(&taken, at(600), 0), Nanos::saturating(17 * u128::from(TICK)));
        capacity.first_attempt(at(600));
        assert_eq!(capacity.next(&taken, at(600), 0), Nanos::saturating(25 * u128::from(TICK)));
    }

    #[test]
    fn those_ahead_take_the_permits_that_come_first() {
        let (capacity, mut taken) = (Capacity::new(5, 3), Retries::default());
        (0..4).for_each(|_| capacity.first_attempt(at(0)));
        let ends = |from: u64, seconds: u64| {
            Nanos::saturating(u128::from(from + 17 * seconds) * u128::from(TICK))
        };
        assert_eq!(capacity.next(&taken, at(500), 0), at(500));
        // When the first attempts have left the window, there is room for three.
        assert_eq!(capacity.next(&taken, at(500), 1), ends(0, 1));
        assert_eq!(capacity.next(&taken, at(500), 2), ends(0, 1));
        // The fourth waits until the first has left it, who was served at once.
        assert_eq!(capacity.next(&taken, at(500), 3), ends(8, 1));
        assert_eq!(capacity.next(&taken, at(500), 4), ends(0, 2));
        assert_eq!(capacity.next(&taken, at(500), 3 * 1000 + 2), ends(0, 1001));
        assert!(capacity.next(&taken, at(500), usize::MAX) > ends(0, 1 << 20));
        taken.count(at(500));
        assert_eq!(capacity.next(&taken, at(500), 0), ends(0, 1));
        assert_eq!(capacity.next(&taken, at(500), 2), ends(8, 1));
    }

    #[test]
    fn what_is_given_back_counts_no_more() {
        let (capacity, mut taken) = (Capacity::new(1, 1), Retries::default());
        taken.count(at(5));
        assert!(capacity.next(&taken, at(5), 0) > at(5));
        taken.forget(at(5));
        taken.forget(at(5));
        assert_eq!(capacity.next(&taken, at(5), 0), at(5));
    }

    #[test]
    fn time_that_runs_back_is_ignored() {
        let mut window = Retries::default();
        window.count(at(5000));
        let same_slot = at(5000).minus(Nanos::saturating(u128::from(TICK * TICKS)));
        window.count(same_slot);
        assert_eq!(sum(&window.0, 5000 * 16 / 1000), 1);
    }
}
