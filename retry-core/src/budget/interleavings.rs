//! Every interleaving of two and three threads, under loom:
//! `RUSTFLAGS="--cfg retry_loom" cargo test -p retry-core --release --lib interleavings`.

use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use std::sync::atomic::Ordering::SeqCst;

use loom::thread;

use super::*;

/// Without a bound on preemptions; a capacity reads many atomics at once.
fn model(run: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.max_branches = 100_000;
    builder.check(run);
}

/// One token is there, and none comes by time.
fn one_token() -> (Budget, Instant) {
    let budget = Budget::ratio(1.0).floor(0).fair_share(false).build().unwrap();
    let now = Instant::now();
    budget.caller("get").first_attempt(now);
    (budget, now)
}

fn spends_one(caller: &Caller, now: Instant) -> usize {
    usize::from(caller.take(Kind::Other, now).map(|mut token| token.spend()).is_ok())
}

fn one_token_is_granted_once(threads: usize) {
    model(move || {
        let (budget, now) = one_token();
        let spend = || {
            let caller = budget.caller("get");
            move || spends_one(&caller, now)
        };
        let others: Vec<_> = (1..threads).map(|_| thread::spawn(spend())).collect();
        let own = spend()();
        let spent = others.into_iter().map(|other| other.join().unwrap()).sum::<usize>() + own;
        assert_eq!(spent, 1);
    });
}

#[test]
fn one_token_and_two_threads() {
    one_token_is_granted_once(2);
}

#[test]
fn one_token_and_three_threads() {
    one_token_is_granted_once(3);
}

#[test]
fn a_deposit_beside_a_retry_is_neither_lost_nor_counted_twice() {
    model(|| {
        let (budget, now) = one_token();
        let caller = budget.caller("get");
        let depositor = thread::spawn({
            let caller = caller.clone();
            move || {
                caller.first_attempt(now);
                spends_one(&caller, now)
            }
        });
        let spent = spends_one(&caller, now) + depositor.join().unwrap();
        assert_eq!(spent + spends_one(&caller, now), 2);
        assert_eq!(spends_one(&caller, now), 0);
    });
}

#[test]
fn what_is_given_back_beside_a_retry_is_there_once() {
    model(|| {
        let (budget, now) = one_token();
        let caller = budget.caller("get");
        let token = caller.take(Kind::Other, now).unwrap();
        let dropper = thread::spawn(move || drop(token));
        let spent = spends_one(&caller, now);
        dropper.join().unwrap();
        assert_eq!(spent + spends_one(&caller, now), 1);
    });
}

#[test]
fn two_callers_join_beside_each_other() {
    model(|| {
        let budget = Budget::ratio(1.0).floor(0).size(6).build().unwrap();
        let now = Instant::now();
        let join = |name: &str| {
            let caller = budget.caller(name);
            move || caller.first_attempt(now)
        };
        let other = thread::spawn(join("one"));
        join("other")();
        other.join().unwrap();
        // What it starts with, and two deposits.
        assert_eq!((budget.stats(now).callers, budget.stats(now).tokens), (2, 5));
    });
}

#[test]
fn two_handles_of_one_name_are_one_caller() {
    model(|| {
        let budget = Budget::ratio(1.0).floor(0).size(6).build().unwrap();
        let now = Instant::now();
        let other = thread::spawn({
            let budget = budget.clone();
            move || budget.caller("get").first_attempt(now)
        });
        budget.caller("get").first_attempt(now);
        other.join().unwrap();
        assert_eq!(budget.stats(now).callers, 1);
    });
}

struct Woken(std::sync::atomic::AtomicBool);

impl std::task::Wake for Woken {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.store(true, SeqCst);
    }
}

/// A floor that is far away: only a deposit can serve the line.
fn waits_for(deposits: impl Fn(Caller, Instant) + Copy + Send + Sync + 'static) {
    model(move || {
        let budget = Budget::ratio(1.0).floor(1).fair_share(false).build().unwrap();
        let (caller, now) = (budget.caller("get"), Instant::now());
        assert_eq!(spends_one(&caller, now), 1);
        let depositor = thread::spawn({
            let caller = caller.clone();
            move || deposits(caller, now)
        });
        let woken = std::sync::Arc::new(Woken(false.into()));
        let waker = std::sync::Arc::clone(&woken).into();
        let mut place = caller.reserve(Kind::Other, now).unwrap();
        let mut token = match place.poll_ready(&mut Context::from_waker(&waker), now) {
            Poll::Ready(token) => {
                depositor.join().unwrap();
                token
            }
            Poll::Pending => {
                depositor.join().unwrap();
                assert!(woken.0.load(SeqCst), "nobody says that the token is there");
                match place.poll_ready(&mut Context::from_waker(&waker), now) {
                    Poll::Ready(token) => token,
                    Poll::Pending => panic!("woken for nothing"),
                }
            }
        };
        token.spend();
        assert_eq!(budget.stats(now + Duration::from_secs(9)).tokens, 9);
    });
}

#[test]
fn a_deposit_beside_one_who_begins_to_wait_wakes_it() {
    waits_for(|caller, now| caller.first_attempt(now));
}

#[test]
fn a_token_given_up_beside_one_who_begins_to_wait_wakes_it() {
    waits_for(|caller, now| {
        caller.first_attempt(now);
        // Takes the token, unless the other waits for it already.
        drop(caller.take(Kind::Other, now));
    });
}

#[test]
fn a_place_given_up_beside_a_deposit_loses_nothing() {
    model(|| {
        let budget = Budget::ratio(1.0).floor(1).fair_share(false).build().unwrap();
        let (caller, now) = (budget.caller("get"), Instant::now());
        assert_eq!(spends_one(&caller, now), 1);
        let place = caller.reserve(Kind::Other, now).unwrap();
        let dropper = thread::spawn(move || drop(place));
        caller.first_attempt(now);
        dropper.join().unwrap();
        assert_eq!(spends_one(&caller, now), 1);
        assert_eq!(budget.stats(now).waiting, 0);
    });
}

#[test]
fn a_capacity_of_one_grants_one() {
    model(|| {
        let budget = Budget::ratio(0.0).fair_share(false).capacity(2, 0.5);
        let budget = budget.build().unwrap();
        let (caller, now) = (budget.caller("get"), Instant::now());
        caller.first_attempt(now);
        let later = now + Duration::from_secs(1);
        let other = thread::spawn({
            let caller = caller.clone();
            move || spends_one(&caller, later)
        });
        let spent = spends_one(&caller, later) + other.join().unwrap();
        assert_eq!(spent, 1);
    });
}

#[test]
fn first_attempts_beside_each_other_are_all_counted_against_the_capacity() {
    model(|| {
        let budget = Budget::ratio(0.0).fair_share(false).capacity(3, 0.0);
        let budget = budget.build().unwrap();
        let (caller, now) = (budget.caller("get"), Instant::now());
        budget.stats(now);
        let later = now + Duration::from_secs(1);
        let other = thread::spawn({
            let caller = caller.clone();
            move || caller.first_attempt(later)
        });
        caller.first_attempt(later);
        other.join().unwrap();
        assert_eq!(spends_one(&caller, later), 1);
        assert_eq!(spends_one(&caller, later), 0);
    });
}
