//! The time of a store.

use std::time::{Instant, SystemTime};

use crate::record::Timestamp;

/// The time of a store: that of the calendar, which never runs back.
///
/// While the calendar is behind a time that the store has seen, because a clock was
/// stepped back or another process's was ahead, time goes on from there at half its
/// speed. So leases end all the same, and the calendar catches up: a second in two.
/// That is counted from the first call of [`now`](Self::now): keep one for as long as
/// the store is open.
///
/// ```
/// use std::time::{Duration, Instant, SystemTime};
/// use retry_core::record::Timestamp;
/// use retry_core::store::StoreClock;
///
/// let (calendar, instant) = (SystemTime::now(), Instant::now());
/// let second = Duration::from_secs(1);
/// // The latest time that is in the store: some process was ten minutes ahead.
/// let floor = Timestamp::from(calendar + 600 * second);
///
/// let mut clock = StoreClock::default();
/// assert_eq!(clock.now(floor, calendar, instant), floor);
/// let later = clock.now(floor, calendar + 60 * second, instant + 60 * second);
/// assert_eq!(later, floor.plus(30 * second));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct StoreClock {
    /// What it said last, and when.
    last: Option<(Timestamp, Instant)>,
}

impl StoreClock {
    /// The time now: from the latest time that the store has kept, by whichever
    /// process, from the calendar, and from a clock that never runs back, whose zero
    /// does not matter.
    pub fn now(&mut self, floor: Timestamp, calendar: SystemTime, instant: Instant) -> Timestamp {
        let slow = self.last.map(|(last, at)| last.plus(instant.saturating_duration_since(at) / 2));
        let now = Timestamp::from(calendar).max(floor).max(slow.unwrap_or_default());
        self.last = Some((now, instant));
        now
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn at(seconds: u32) -> Timestamp {
        Timestamp::default().plus(SECOND * seconds)
    }

    #[test]
    fn it_is_the_calendar_where_that_runs_on() {
        let (mut clock, zero) = (StoreClock::default(), Instant::now());
        for second in [100, 101, 107, 100_000] {
            let now = clock.now(at(0), UNIX_EPOCH + SECOND * second, zero + SECOND * second);
            assert_eq!(now, at(second));
        }
        // A step forward is followed, by however much.
        assert_eq!(
            clock.now(at(0), UNIX_EPOCH + SECOND * 900_000, zero + SECOND * 100_001),
            at(900_000)
        );
    }

    #[test]
    fn behind_a_step_back_it_goes_on_at_half_its_speed_until_the_calendar_is_there() {
        let (mut clock, zero) = (StoreClock::default(), Instant::now());
        let mut after = |seconds, calendar| {
            clock.now(at(0), UNIX_EPOCH + SECOND * calendar, zero + SECOND * seconds)
        };
        assert_eq!(after(0, 1_000), at(1_000));
        // Ten seconds back.
        assert_eq!(after(4, 994), at(1_002));
        assert_eq!(after(10, 1_000), at(1_005));
        assert_eq!(after(20, 1_010), at(1_010));
        assert_eq!(after(30, 1_020), at(1_020));
    }

    #[test]
    fn it_is_never_before_what_the_store_has_seen() {
        let (mut clock, zero) = (StoreClock::default(), Instant::now());
        assert_eq!(clock.now(at(500), UNIX_EPOCH, zero), at(500));
        assert_eq!(clock.now(at(700), UNIX_EPOCH, zero + SECOND * 2), at(700));
        assert_eq!(clock.now(at(700), UNIX_EPOCH, zero + SECOND * 4), at(701));
        // Nor before what it has said, where the instant is an earlier one.
        assert_eq!(clock.now(at(0), UNIX_EPOCH, zero), at(701));
    }
}
