//! What opens it, what closes it, and what counts: cases K1, K2, K4 to K6 and
//! P24.

use std::time::{Duration, Instant};

use retry_core::breaker::{Outcome, State, Transition, Window};
use retry_core::{Breaker, Classify as _, Failure, StopReason};

const SECOND: Duration = Duration::from_secs(1);

/// What the outcome of a call let through now changes.
fn outcome(breaker: &Breaker, now: Instant, outcome: Outcome) -> Option<Transition> {
    breaker.admit(now).unwrap().settle(now, outcome)
}

fn fails(breaker: &Breaker, now: Instant, times: u32) {
    for _ in 0..times {
        assert_eq!(outcome(breaker, now, Outcome::Failure), None);
        assert_eq!(breaker.state(now), State::Closed);
    }
}

/// A half-open breaker, and the time at which it is that.
fn half_open(probes: u32) -> (Breaker, Instant) {
    let breaker = Breaker::consecutive(1, SECOND).probes(probes).lease(5 * SECOND).build().unwrap();
    let now = Instant::now();
    breaker.open(now, Some(SECOND));
    (breaker, now + SECOND)
}

#[test]
fn ten_failures_in_a_row_open_it_and_not_eleven() {
    let (breaker, now) = (Breaker::default(), Instant::now());
    fails(&breaker, now, 9);
    let opened = outcome(&breaker, now, Outcome::Failure).unwrap();
    let Transition::Opened { generation: 1, until: Some(until) } = opened else {
        panic!("{opened:?}");
    };
    assert!(until >= now + 30 * SECOND && until <= now + 33 * SECOND);
    assert_eq!(breaker.state(now), State::Open { until: Some(until) });
    assert_eq!(breaker.admit(now).unwrap_err().until(), Some(until));
    assert_eq!(breaker.openings(), 1);
}

#[test]
fn a_success_ends_the_row() {
    let (breaker, now) = (Breaker::default(), Instant::now());
    fails(&breaker, now, 9);
    assert_eq!(outcome(&breaker, now, Outcome::Success), None);
    fails(&breaker, now, 9);
    assert!(outcome(&breaker, now, Outcome::Failure).is_some());
}

#[test]
fn what_is_ignored_or_dropped_neither_counts_nor_ends_the_row() {
    let (breaker, now) = (Breaker::default(), Instant::now());
    fails(&breaker, now, 9);
    for _ in 0..9 {
        assert_eq!(outcome(&breaker, now, Outcome::Ignored), None);
        drop(breaker.admit(now).unwrap());
    }
    assert_eq!(breaker.state(now), State::Closed);
    assert!(outcome(&breaker, now, Outcome::Failure).is_some());
}

#[test]
fn a_failure_is_judged_by_its_class_and_where_it_comes_from() {
    let breaker = Breaker::default();
    let strict = Breaker::consecutive(1, SECOND).ignore_permanent().build().unwrap();
    let nested = {
        // The stop of an operation inside: an open breaker's, for one.
        breaker.open(Instant::now(), None);
        breaker.admit(Instant::now()).unwrap_err().classify()
    };
    assert_eq!(nested.inner(), Some(StopReason::CircuitOpen));
    for (failure, by_default, by_strict) in [
        (Failure::transient(), Outcome::Failure, Outcome::Failure),
        (Failure::timeout(), Outcome::Failure, Outcome::Failure),
        (Failure::permanent(), Outcome::Success, Outcome::Ignored),
        (Failure::unknown(), Outcome::Ignored, Outcome::Ignored),
        (nested, Outcome::Ignored, Outcome::Ignored),
    ] {
        assert_eq!(breaker.outcome_of(&failure), by_default, "{failure}");
        assert_eq!(strict.outcome_of(&failure), by_strict, "{failure}");
    }
}

#[test]
fn half_open_is_read_without_a_call_in_between() {
    let (breaker, now) = (Breaker::default(), Instant::now());
    breaker.open(now, Some(SECOND));
    let end = now + SECOND;
    assert_eq!(breaker.state(end - Duration::from_nanos(1)), State::Open { until: Some(end) });
    assert_eq!(breaker.state(end), State::HalfOpen { free: 1 });
    assert_eq!(
        breaker.admit(end).unwrap().transition(),
        Some(Transition::HalfOpened { generation: 1 })
    );
}

#[test]
fn all_probes_must_succeed_and_the_last_one_closes() {
    let (breaker, now) = half_open(3);
    let [first, second] = [(); 2].map(|()| breaker.admit(now).unwrap());
    assert_eq!(first.settle(now, Outcome::Success), None);
    assert_eq!(breaker.state(now), State::HalfOpen { free: 1 });
    let third = breaker.admit(now).unwrap();
    assert!(third.is_probe());
    // Three were let through: one that succeeded keeps its place.
    assert!(breaker.admit(now).is_err());
    assert_eq!(third.settle(now, Outcome::Success), None);
    assert_eq!(second.settle(now, Outcome::Success), Some(Transition::Closed { generation: 1 }));
    assert_eq!(breaker.state(now), State::Closed);
    assert!(!breaker.admit(now).unwrap().is_probe());
}

#[test]
fn one_probe_that_fails_opens_it_again() {
    let (breaker, now) = half_open(3);
    let [first, second] = [(); 2].map(|()| breaker.admit(now).unwrap());
    let opened = first.settle(now, Outcome::Failure);
    assert!(matches!(opened, Some(Transition::Opened { generation: 2, .. })));
    assert_eq!(second.settle(now, Outcome::Success), None);
    assert!(matches!(breaker.state(now), State::Open { .. }));
}

#[test]
fn the_place_of_a_probe_that_says_nothing_is_free_again() {
    let (breaker, now) = half_open(1);
    for _ in 0..100 {
        assert_eq!(outcome(&breaker, now, Outcome::Ignored), None);
        drop(breaker.admit(now).unwrap());
        assert_eq!(breaker.state(now), State::HalfOpen { free: 1 });
    }
}

#[test]
fn the_place_of_a_probe_that_never_settles_is_free_when_its_lease_ends() {
    let (breaker, now) = half_open(2);
    let [lost, late] = [(); 2].map(|()| breaker.admit(now).unwrap());
    std::mem::forget(lost);
    let end = now + 5 * SECOND;
    let refused = breaker.admit(end - Duration::from_millis(1500)).unwrap_err();
    assert_eq!(refused.until(), Some(end));
    assert_eq!(
        refused.to_string(),
        "the circuit breaker is half-open and all its probes are out, the next one is let through \
         in 1.5s at the latest",
    );
    assert_eq!(breaker.state(end), State::HalfOpen { free: 2 });
    // Over, and nobody has taken the place yet: it decides nothing all the same.
    assert_eq!(late.settle(end, Outcome::Failure), None);
    assert_eq!(outcome(&breaker, end, Outcome::Success), None);
    assert_eq!(
        outcome(&breaker, end, Outcome::Success),
        Some(Transition::Closed { generation: 1 })
    );
}

#[test]
fn a_probe_whose_place_was_given_to_another_takes_none_with_it() {
    let (breaker, now) = half_open(1);
    let late = breaker.admit(now).unwrap();
    let end = now + 5 * SECOND;
    let _other = breaker.admit(end).unwrap();
    assert_eq!(late.settle(end, Outcome::Success), None);
    assert_eq!(breaker.state(end), State::HalfOpen { free: 0 });
}

#[test]
fn a_call_that_was_started_while_closed_does_not_decide_the_probe() {
    let breaker = Breaker::consecutive(1, SECOND).build().unwrap();
    let now = Instant::now();
    let [good, bad, opens] = [(); 3].map(|()| breaker.admit(now).unwrap());
    assert!(opens.settle(now, Outcome::Failure).is_some());
    let later = now + 2 * SECOND;
    let probe = breaker.admit(later).unwrap();
    assert_eq!(good.settle(later, Outcome::Success), None);
    assert_eq!(bad.settle(later, Outcome::Failure), None);
    assert_eq!(breaker.state(later), State::HalfOpen { free: 0 });
    assert_eq!(probe.settle(later, Outcome::Success), Some(Transition::Closed { generation: 1 }));
}

#[test]
fn a_call_of_an_earlier_closed_time_does_not_count_in_a_later_one() {
    let breaker = Breaker::consecutive(1, SECOND).build().unwrap();
    let now = Instant::now();
    let old = breaker.admit(now).unwrap();
    breaker.open(now, None);
    breaker.close();
    assert_eq!(old.settle(now, Outcome::Failure), None);
    assert_eq!(breaker.state(now), State::Closed);
}

#[test]
fn opened_by_hand_it_stays_so_until_it_is_closed_by_hand() {
    let (breaker, now) = (Breaker::default(), Instant::now());
    let opened = breaker.open(now, None);
    assert_eq!(opened, Transition::Opened { generation: 1, until: None });
    let refused = breaker.admit(now + 1_000_000 * SECOND).unwrap_err();
    assert_eq!((refused.until(), refused.wait()), (None, None));
    assert_eq!(refused.to_string(), "the circuit breaker is open until it is closed by hand");
    assert_eq!(breaker.close(), Some(Transition::Closed { generation: 1 }));
    assert_eq!(breaker.close(), None);
    assert!(breaker.admit(now).is_ok());
}

#[test]
fn closing_by_hand_forgets_what_was_counted() {
    let (breaker, now) = (Breaker::default(), Instant::now());
    fails(&breaker, now, 9);
    assert_eq!(breaker.close(), None);
    fails(&breaker, now, 9);
}

#[test]
fn a_rate_is_judged_from_the_minimum_on() {
    let window = Window::calls(20).minimum(10);
    let breaker = Breaker::rate(0.5, window, SECOND).build().unwrap();
    let now = Instant::now();
    for _ in 0..9 {
        assert_eq!(outcome(&breaker, now, Outcome::Failure), None);
    }
    // Nine of ten: judged at any outcome, and this is one.
    assert!(outcome(&breaker, now, Outcome::Success).is_some());
}

#[test]
fn a_tenth_is_a_tenth() {
    let window = Window::calls(100).minimum(100);
    let breaker = Breaker::rate(0.1, window, SECOND).build().unwrap();
    let now = Instant::now();
    for call in 0..99 {
        let result = if call < 10 { Outcome::Failure } else { Outcome::Success };
        assert_eq!(outcome(&breaker, now, result), None);
    }
    assert!(outcome(&breaker, now, Outcome::Success).is_some());
}

#[test]
fn old_calls_leave_a_window_of_calls() {
    let breaker = Breaker::rate(0.5, Window::calls(4), SECOND).build().unwrap();
    let now = Instant::now();
    for _ in 0..100 {
        for result in [Outcome::Failure, Outcome::Success, Outcome::Success, Outcome::Success] {
            assert_eq!(outcome(&breaker, now, result), None);
        }
    }
    // Success, success, success, failure: the next failure is the second of four.
    assert_eq!(outcome(&breaker, now, Outcome::Failure), None);
    assert!(outcome(&breaker, now, Outcome::Failure).is_some());
}

#[test]
fn old_calls_leave_a_window_of_time() {
    let window = Window::time(60 * SECOND).minimum(4);
    let breaker = Breaker::rate(1.0, window, SECOND).build().unwrap();
    let start = Instant::now();
    for _ in 0..3 {
        assert_eq!(outcome(&breaker, start, Outcome::Failure), None);
    }
    // The window has moved on: these are four of four, and the first are gone.
    let later = start + 60 * SECOND;
    for _ in 0..3 {
        assert_eq!(outcome(&breaker, later, Outcome::Failure), None);
    }
    assert!(outcome(&breaker, later + 59 * SECOND, Outcome::Failure).is_some());
}

#[test]
fn a_time_that_runs_back_is_taken_for_the_newest() {
    let window = Window::time(60 * SECOND).minimum(3);
    let breaker = Breaker::rate(1.0, window, SECOND).build().unwrap();
    let start = Instant::now();
    assert_eq!(outcome(&breaker, start + 90 * SECOND, Outcome::Failure), None);
    assert_eq!(outcome(&breaker, start, Outcome::Failure), None);
    assert!(outcome(&breaker, start + 149 * SECOND, Outcome::Failure).is_some());
}

#[test]
fn the_words_of_the_states() {
    let now = Instant::now();
    let (breaker, _) = half_open(1);
    assert_eq!(Breaker::default().state(now).to_string(), "closed");
    assert_eq!(breaker.state(now - SECOND).to_string(), "open");
    assert_eq!(breaker.state(now + 2 * SECOND).to_string(), "half_open");
}
