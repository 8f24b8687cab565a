//! Exact under threads: case K1, and P24 with callers at once.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use retry_core::Breaker;
use retry_core::breaker::{Outcome, State, Transition};

const SECOND: Duration = Duration::from_secs(1);
const CALLERS: usize = 100;

/// All callers at the same time, and what each of them came to.
fn callers<R: Send>(call: impl Fn() -> R + Sync) -> Vec<R> {
    let barrier = Barrier::new(CALLERS);
    let call = || {
        barrier.wait();
        call()
    };
    thread::scope(|scope| {
        let callers: Vec<_> = (0..CALLERS).map(|_| scope.spawn(call)).collect();
        callers.into_iter().map(|caller| caller.join().unwrap()).collect()
    })
}

#[test]
fn of_a_hundred_callers_ten_are_probes() {
    for _ in 0..20 {
        let breaker = Breaker::consecutive(1, SECOND).probes(10).build().unwrap();
        let now = Instant::now();
        breaker.open(now, Some(SECOND));
        let later = now + SECOND;
        let answers = callers(|| breaker.admit(later));
        let probes: Vec<_> = answers.into_iter().flatten().collect();
        assert_eq!(probes.len(), 10);
        assert!(probes.iter().all(|probe| probe.is_probe()));
        assert_eq!(probes.iter().filter_map(|probe| probe.transition()).count(), 1);
        let changes: Vec<_> =
            probes.into_iter().map(|probe| probe.settle(later, Outcome::Success)).collect();
        assert_eq!(changes[9], Some(Transition::Closed { generation: 1 }));
        assert!(changes[..9].iter().all(Option::is_none));
    }
}

#[test]
fn failures_of_a_hundred_callers_open_it_once() {
    for failures in [1, 10, 99, 100] {
        let breaker = Breaker::consecutive(failures, SECOND).build().unwrap();
        let now = Instant::now();
        let settled = AtomicU32::new(0);
        let changes = callers(|| {
            let Ok(permit) = breaker.admit(now) else { return None };
            let change = permit.settle(now, Outcome::Failure);
            settled.fetch_add(1, Ordering::Relaxed);
            change
        });
        assert_eq!(changes.into_iter().flatten().count(), 1);
        assert_eq!(breaker.openings(), 1);
        assert!(settled.into_inner() >= failures);
    }
}

#[test]
fn never_more_probes_are_out_than_allowed() {
    const PROBES: u32 = 3;
    let breaker = Breaker::consecutive(1, SECOND).probes(PROBES).build().unwrap();
    let now = Instant::now();
    breaker.open(now, Some(SECOND));
    let later = now + SECOND;
    let out = AtomicU32::new(0);
    let most = callers(|| {
        let mut most = 0;
        for _ in 0..1000 {
            let Ok(permit) = breaker.admit(later) else { continue };
            most = most.max(out.fetch_add(1, Ordering::SeqCst) + 1);
            thread::yield_now();
            out.fetch_sub(1, Ordering::SeqCst);
            if most % 2 == 0 {
                assert_eq!(permit.settle(later, Outcome::Ignored), None);
            }
        }
        most
    });
    assert!(most.into_iter().max() <= Some(PROBES));
    assert_eq!(breaker.state(later), State::HalfOpen { free: PROBES });
}
