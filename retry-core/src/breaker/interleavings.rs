//! Every interleaving of two and three threads, by loom. Time stands still in
//! each of them: what is tried is the order of steps.

#![allow(clippy::unwrap_used, reason = "in helpers of tests")]

use std::time::{Duration, Instant};

use loom::thread;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

/// Half-open at the time that comes with it.
fn half_open(probes: u32) -> (Breaker, Instant) {
    let breaker = Breaker::consecutive(1, SECOND).process(0).probes(probes).build().unwrap();
    let now = Instant::now();
    breaker.open(now, Some(SECOND));
    (breaker, now + SECOND)
}

/// Runs the steps at once, the last one on the thread of the test.
fn at_once<R: 'static, const N: usize>(
    breaker: &Breaker,
    steps: [fn(&Breaker, Instant) -> R; N],
    now: Instant,
) -> [R; N] {
    let mut steps = steps.map(Some);
    let last = steps[N - 1].take().unwrap();
    let threads: Vec<_> = steps
        .into_iter()
        .flatten()
        .map(|step| {
            let breaker = breaker.clone();
            thread::spawn(move || step(&breaker, now))
        })
        .collect();
    let last = last(breaker, now);
    let mut all: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    all.push(last);
    all.try_into().ok().unwrap()
}

fn transition_count(transitions: &[Option<Transition>], is: fn(&Transition) -> bool) -> usize {
    transitions.iter().flatten().filter(|transition| is(transition)).count()
}

#[test]
fn two_callers_share_one_place() {
    loom::model(|| {
        let (breaker, now) = half_open(1);
        let permits = at_once(&breaker, [|breaker, now| breaker.admit(now).ok(); 2], now);
        assert_eq!(permits.iter().flatten().count(), 1);
        assert_eq!(permits.iter().flatten().filter_map(Permit::transition).count(), 1);
        assert_eq!(breaker.state(now), State::HalfOpen { free: 0 });
        drop(permits);
        assert_eq!(breaker.state(now), State::HalfOpen { free: 1 });
    });
}

#[test]
fn three_callers_share_two_places() {
    loom::model(|| {
        let (breaker, now) = half_open(2);
        let permits = at_once(&breaker, [|breaker, now| breaker.admit(now).ok(); 3], now);
        assert_eq!(permits.iter().flatten().count(), 2);
        assert_eq!(permits.iter().flatten().filter_map(Permit::transition).count(), 1);
    });
}

#[test]
fn a_place_that_is_given_back_is_given_once() {
    loom::model(|| {
        let (breaker, now) = half_open(1);
        let probe = breaker.admit(now).unwrap();
        let callers = [breaker.clone(), breaker.clone()]
            .map(|breaker| thread::spawn(move || breaker.admit(now).ok()));
        drop(probe);
        let permits = callers.map(|caller| caller.join().unwrap());
        assert!(permits.iter().flatten().count() <= 1);
        let free = u32::from(permits.iter().all(Option::is_none));
        assert_eq!(breaker.state(now), State::HalfOpen { free });
    });
}

/// One probe succeeds, one fails: the breaker reopens in any order, and once.
#[test]
fn a_success_races_with_the_failure_that_reopens() {
    loom::model(|| {
        let (breaker, now) = half_open(2);
        let [good, bad] = [(); 2].map(|()| breaker.admit(now).unwrap());
        let good = thread::spawn(move || good.settle(now, Outcome::Success));
        let transitions = [bad.settle(now, Outcome::Failure), good.join().unwrap()];
        assert!(matches!(transitions, [Some(Transition::Opened { generation: 2, .. }), None]));
        assert!(matches!(breaker.state(now), State::Open { .. }));
    });
}

/// Two probes fail, and a third caller asks: one opening, and the caller is
/// let through only before it.
#[test]
fn failures_of_two_probes_reopen_once() {
    loom::model(|| {
        let (breaker, now) = half_open(3);
        let probes = [(); 2].map(|()| breaker.admit(now).unwrap());
        let probes = probes.map(|probe| thread::spawn(move || probe.settle(now, Outcome::Failure)));
        let late = breaker.admit(now);
        let transitions = probes.map(|probe| probe.join().unwrap());
        assert_eq!(transition_count(&transitions, |t| matches!(t, Transition::Opened { .. })), 1);
        // The probe of the generation before decides nothing.
        if let Ok(late) = late {
            assert_eq!(late.settle(now, Outcome::Success), None);
        }
        assert_eq!(breaker.openings(), 2);
        assert!(matches!(breaker.state(now), State::Open { .. }));
    });
}

/// A probe settles while the breaker is opened and closed by hand.
#[test]
fn an_outcome_races_with_an_operator() {
    loom::model(|| {
        let (breaker, now) = half_open(1);
        let probe = breaker.admit(now).unwrap();
        let operator = {
            let breaker = breaker.clone();
            thread::spawn(move || (breaker.open(now, None), breaker.close()))
        };
        let decided = probe.settle(now, Outcome::Failure);
        let (opened, closed) = operator.join().unwrap();
        let expected = if decided.is_some() { 3 } else { 2 };
        assert_eq!(breaker.openings(), expected);
        assert!(matches!(opened, Transition::Opened { until: None, .. }));
        match decided {
            // It failed first, or after the breaker was open again: then it does not count.
            Some(Transition::Opened { generation, .. }) => assert_eq!(generation, 2),
            other => assert_eq!(other, None),
        }
        assert_eq!(closed, Some(Transition::Closed { generation: expected }));
        assert_eq!(breaker.state(now), State::Closed);
    });
}

/// A call of a closed breaker fails while an operator opens and closes it: it
/// counts before that, or never.
#[test]
fn an_old_failure_races_with_an_operator() {
    loom::model(|| {
        let breaker = Breaker::consecutive(1, SECOND).process(0).build().unwrap();
        let now = Instant::now();
        let old = breaker.admit(now).unwrap();
        let old = thread::spawn(move || old.settle(now, Outcome::Failure));
        breaker.open(now, None);
        breaker.close();
        let decided = old.join().unwrap();
        assert_eq!(breaker.state(now), State::Closed);
        assert_eq!(breaker.openings(), if decided.is_some() { 2 } else { 1 });
    });
}

/// The n-th failure opens, in any order of threads, and nobody else hears of it.
#[test]
fn three_failures_open_once() {
    loom::model(|| {
        let breaker = Breaker::consecutive(3, SECOND).process(0).build().unwrap();
        let now = Instant::now();
        let [first, second, third] = [(); 3].map(|()| breaker.admit(now).unwrap());
        let others = [first, second]
            .map(|permit| thread::spawn(move || permit.settle(now, Outcome::Failure)));
        let third = third.settle(now, Outcome::Failure);
        let [first, second] = others.map(|other| other.join().unwrap());
        assert_eq!(transition_count(&[first, second, third], |_| true), 1);
        assert!(matches!(breaker.state(now), State::Open { .. }));
    });
}

/// A caller that is let through without the lock while another one fails: its
/// own failure counts, as it was let through while closed, unless the breaker
/// opened before it settled.
#[test]
fn two_callers_fail_and_the_first_failure_opens() {
    loom::model(|| {
        let breaker = Breaker::consecutive(1, SECOND).process(0).build().unwrap();
        let now = Instant::now();
        let fails: fn(&Breaker, Instant) -> Option<Transition> =
            |breaker, now| breaker.admit(now).ok()?.settle(now, Outcome::Failure);
        let transitions = at_once(&breaker, [fails; 2], now);
        assert_eq!(transition_count(&transitions, |_| true), 1);
        assert_eq!(breaker.openings(), 1);
    });
}

/// What the word of a closed breaker says holds: a success that comes after a
/// failure, in the order of the threads, ends the row; one that comes before
/// it does not.
#[test]
fn a_success_without_the_lock_is_before_or_after_a_failure() {
    loom::model(|| {
        let breaker = Breaker::consecutive(2, SECOND).process(0).build().unwrap();
        let now = Instant::now();
        let success = breaker.admit(now).unwrap();
        let success = thread::spawn(move || success.settle(now, Outcome::Success));
        assert_eq!(breaker.admit(now).unwrap().settle(now, Outcome::Failure), None);
        // The failure is seen: this success cannot miss it.
        success.join().unwrap();
        breaker.admit(now).unwrap().settle(now, Outcome::Success);
        assert_eq!(breaker.admit(now).unwrap().settle(now, Outcome::Failure), None);
        assert!(breaker.admit(now).unwrap().settle(now, Outcome::Failure).is_some());
    });
}

/// A call of a closed breaker that ends while it opens and half-opens.
#[test]
fn an_old_call_races_with_the_probe() {
    loom::model(|| {
        let breaker = Breaker::consecutive(1, SECOND).process(0).build().unwrap();
        let now = Instant::now();
        let [old, fails] = [(); 2].map(|()| breaker.admit(now).unwrap());
        assert!(fails.settle(now, Outcome::Failure).is_some());
        let later = now + 2 * SECOND;
        let old = thread::spawn(move || old.settle(later, Outcome::Failure));
        let probe = breaker.admit(later).unwrap();
        assert_eq!(
            probe.settle(later, Outcome::Success),
            Some(Transition::Closed { generation: 1 })
        );
        assert_eq!(old.join().unwrap(), None);
        assert_eq!(breaker.state(later), State::Closed);
    });
}
