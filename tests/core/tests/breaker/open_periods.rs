//! How long it stays open: case P26.

use std::time::{Duration, Instant};

use retry_core::breaker::{BreakerBuilder, OpenPeriod, Outcome, State, Transition};
use retry_core::{Backoff, Breaker, Jitter};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

fn breaker(open_for: impl Into<OpenPeriod>) -> BreakerBuilder {
    Breaker::consecutive(1, open_for).name("payments-gateway").process(0xff)
}

/// Fails, and so does every probe: the lengths of the open periods.
fn open_periods(breaker: &Breaker, times: usize) -> Vec<Duration> {
    let mut now = Instant::now();
    let period = || {
        let change = breaker.admit(now).unwrap().settle(now, Outcome::Failure);
        let Some(Transition::Opened { until: Some(until), .. }) = change else {
            panic!("{change:?}");
        };
        let period = until - now;
        now = until;
        period
    };
    std::iter::repeat_with(period).take(times).collect()
}

/// The draws are those of SHA-256 of `payments-gateway#00000000000000ff:1` and
/// so on, computed by Python's hashlib.
#[test]
fn a_duration_is_spread_by_name_process_and_generation() {
    let units: [u64; 4] = [4_035_033_312, 2_878_061_540, 2_505_974_575, 3_702_723_456];
    let expected = units.map(|unit| {
        Duration::from_nanos(30_000_000_000 + 3_000_000_000 * unit / u64::from(u32::MAX))
    });
    assert_eq!(open_periods(&breaker(30 * SECOND).build().unwrap(), 4), expected);
}

#[test]
fn a_fleet_does_not_probe_in_step() {
    let periods = |breaker: BreakerBuilder| open_periods(&breaker.build().unwrap(), 5);
    let one = periods(breaker(SECOND));
    assert_eq!(periods(breaker(SECOND)), one);
    assert_ne!(periods(breaker(SECOND).process(1)), one);
    assert_ne!(periods(breaker(SECOND).name("search")), one);
    let mut distinct = one.clone();
    distinct.dedup();
    assert_eq!(distinct.len(), one.len());
}

#[test]
fn open_periods_grow_by_a_backoff_until_it_closes() {
    let growing = Backoff::exponential(SECOND).cap(5 * SECOND).jitter(Jitter::None);
    let breaker = breaker(growing).build().unwrap();
    assert_eq!(open_periods(&breaker, 5), [1, 2, 4, 5, 5].map(|n| n * SECOND));
    let later = Instant::now() + 3600 * SECOND;
    let closed = breaker.admit(later).unwrap().settle(later, Outcome::Success);
    assert_eq!(closed, Some(Transition::Closed { generation: 5 }));
    assert_eq!(open_periods(&breaker, 2), [SECOND, 2 * SECOND]);
}

#[test]
fn a_backoff_is_drawn_as_its_delays_are() {
    let full = Backoff::fixed(SECOND).jitter(Jitter::Full);
    let delays: Vec<_> = full.delays("payments-gateway#00000000000000ff").take(5).collect();
    assert_eq!(open_periods(&breaker(full).build().unwrap(), 5), delays);
}

#[test]
fn any_period_is_held_to_the_nanosecond() {
    for period in [Duration::from_nanos(1), Duration::from_micros(7), 250 * MS, 1500 * MS] {
        let exact = Backoff::fixed(period).jitter(Jitter::None);
        let breaker = breaker(exact).build().unwrap();
        let now = Instant::now();
        assert!(breaker.admit(now).unwrap().settle(now, Outcome::Failure).is_some());
        let end = now + period;
        let before = end - Duration::from_nanos(1);
        assert_eq!(breaker.state(before), State::Open { until: Some(end) });
        assert!(breaker.admit(before).is_err());
        assert_eq!(
            breaker.admit(end).unwrap().transition(),
            Some(Transition::HalfOpened { generation: 1 })
        );
    }
}

#[test]
fn the_longest_periods_and_leases_do_not_overflow() {
    let breaker = breaker(Duration::MAX).lease(Duration::MAX).build().unwrap();
    let now = Instant::now();
    assert!(breaker.admit(now).unwrap().settle(now, Outcome::Failure).is_some());
    assert!(breaker.admit(now).is_err());
    breaker.open(now, Some(Duration::MAX));
    assert!(breaker.admit(now).is_err());
    breaker.open(now, Some(Duration::ZERO));
    let _probe = breaker.admit(now).unwrap();
    assert!(breaker.admit(now).is_err());
}
