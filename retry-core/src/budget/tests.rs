//! A budget as the loop uses it.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use futures::task::{ArcWake, waker};
use proptest::prelude::*;

use super::*;
use crate::clock::{Clock, VirtualClock};
use crate::{Backoff, Classify, OnRefusal, Operation, Policy, Resource, Retrier, StopReason};

const SECOND: Duration = Duration::from_secs(1);

/// A time to count from, an hour after the platform's clock began to be read.
fn start() -> Instant {
    Instant::now() + 3600 * SECOND
}

fn granted(caller: &Caller, kind: Kind, now: Instant) -> bool {
    caller.take(kind, now).map(|mut token| token.spend()).is_ok()
}

fn take_all(caller: &Caller, now: Instant) -> usize {
    std::iter::repeat_with(|| granted(caller, Kind::Other, now))
        .take_while(|&granted| granted)
        .count()
}

#[derive(Default)]
struct Woken(AtomicUsize);

impl ArcWake for Woken {
    fn wake_by_ref(woken: &std::sync::Arc<Self>) {
        woken.0.fetch_add(1, SeqCst);
    }
}

impl Woken {
    fn times(&self) -> usize {
        self.0.swap(0, SeqCst)
    }
}

fn poll(place: &mut Reservation, woken: &std::sync::Arc<Woken>, now: Instant) -> Poll<Token> {
    let waker = waker(std::sync::Arc::clone(woken));
    place.poll_ready(&mut Context::from_waker(&waker), now)
}

/// A loop holds them over its waits, on any thread.
const _: () = {
    const fn shared<T: Send + Sync + 'static>() {}
    shared::<Budget>();
    shared::<Caller>();
    shared::<Token>();
    shared::<Reservation>();
};

// The schemes.

#[test]
fn a_ratio_is_kept_to_the_token_over_ten_thousand_calls() {
    for (ratio, retries) in [(0.6, 6000), (0.2, 2000), (1.0, 10_000), (0.001, 10)] {
        for (floor, at_once) in [(0, 0), (10, 1)] {
            let budget = Budget::ratio(ratio).floor(floor).build().unwrap();
            let (caller, now) = (budget.caller("get"), start());
            let mut count = 0;
            for call in 1..=10_000_u64 {
                caller.first_attempt(now);
                count += u64::from(granted(&caller, Kind::Server, now));
                let exact = (ratio * 1e9) as u64 * call / 1_000_000_000 + at_once;
                assert!(count.abs_diff(exact.min(call)) <= 1, "{count} of {call} calls");
            }
            assert!(count.abs_diff(retries) <= 1, "{count} of 10000 calls");
        }
    }
}

#[test]
fn the_floor_lets_a_single_call_retry() {
    let budget = Budget::ratio(0.2).build().unwrap();
    let (caller, now) = (budget.caller("get"), start());
    caller.first_attempt(now);
    assert!(granted(&caller, Kind::Server, now));
}

#[test]
fn the_floor_is_ten_a_second_and_saves_for_ten_seconds() {
    let budget = Budget::ratio(0.2).fair_share(false).build().unwrap();
    let (caller, now) = (budget.caller("get"), start());
    assert_eq!(take_all(&caller, now), 1);
    assert_eq!(take_all(&caller, now + SECOND), 10);
    assert_eq!(take_all(&caller, now + SECOND + Duration::from_nanos(99_999_999)), 0);
    assert_eq!(take_all(&caller, now + SECOND + Duration::from_nanos(100_000_000)), 1);
    assert_eq!(take_all(&caller, now + 3600 * SECOND), 100);
    (0..50).for_each(|_| caller.first_attempt(now + 3600 * SECOND));
    assert_eq!(take_all(&caller, now + 3600 * SECOND), 10);
}

#[test]
fn aws_2_0_takes_5_and_for_a_timeout_10_of_500() {
    let budget = Budget::aws_2_0().build().unwrap();
    let (caller, now) = (budget.caller("get"), start());
    let tokens = || budget.stats(now).tokens;
    // Two timeouts, then success: what the last retry took comes back.
    assert_eq!(tokens(), 500);
    assert!(granted(&caller, Kind::Timeout, now));
    assert_eq!(tokens(), 490);
    let mut last = caller.take(Kind::Server, now).unwrap();
    last.spend();
    assert_eq!(tokens(), 485);
    last.refund();
    caller.succeeded(3, now);
    assert_eq!(tokens(), 490);
    // A success of the first attempt brings one in, up to the size.
    (1..=12).for_each(|_| caller.succeeded(1, now));
    assert_eq!(tokens(), 500);
    // All alone, a hundred retries; after them nothing comes by time.
    assert_eq!(take_all(&caller, now), 100);
    let empty = caller.take(Kind::Other, now + 3600 * SECOND).unwrap_err();
    assert_eq!(empty.next(), None);
    (0..5).for_each(|_| caller.succeeded(1, now));
    assert!(!granted(&caller, Kind::Timeout, now));
    assert!(granted(&caller, Kind::Connect, now));
}

#[test]
fn aws_2_1_takes_14_and_for_throttling_5_of_500() {
    let budget = Budget::aws_2_1().build().unwrap();
    let (caller, now) = (budget.caller("get"), start());
    assert_eq!(take_all(&caller, now), 35);
    assert_eq!(budget.stats(now).tokens, 10);
    assert!(granted(&caller, Kind::Throttled, now));
    let mut last = caller.take(Kind::Throttled, now).unwrap();
    last.spend();
    assert!(!granted(&caller, Kind::Throttled, now));
    last.refund();
    assert!(!granted(&caller, Kind::Server, now));
    assert!(granted(&caller, Kind::Throttled, now));
}

#[test]
fn grpc_stops_at_half_and_goes_on_above_it() {
    let budget = Budget::grpc(10, 0.1).build().unwrap();
    let (caller, now) = (budget.caller("get"), start());
    let fails = |times| (0..times).for_each(|_| caller.failed(&Failure::transient(), now));
    let succeeds = |times| (0..times).for_each(|_| caller.succeeded(2, now));
    succeeds(7); // full
    caller.failed(&Failure::permanent(), now);
    caller.failed(&Failure::unknown(), now);
    fails(4);
    assert_eq!(budget.stats(now).tokens, 6);
    // A retry takes nothing.
    (0..100).for_each(|_| assert!(granted(&caller, Kind::Server, now)));
    fails(1);
    let empty = caller.take(Kind::Server, now).unwrap_err();
    assert_eq!(
        empty.to_string(),
        "the local retry budget is at its threshold or below, the other side was not asked; \
         only further calls bring tokens in",
    );
    succeeds(1);
    assert!(granted(&caller, Kind::Server, now));
    // Never below zero.
    fails(100);
    succeeds(50);
    assert!(!granted(&caller, Kind::Server, now));
    succeeds(1);
    assert!(granted(&caller, Kind::Server, now));
}

#[test]
fn one_operations_attempts_never_count_for_another() {
    let budget = Budget::aws_2_0().build().unwrap();
    let (one, other, now) = (budget.caller("one"), budget.caller("other"), start());
    let mut token = one.take(Kind::Server, now).unwrap();
    token.spend();
    // The other succeeds at once while the one is in its second attempt.
    other.succeeded(1, now);
    assert_eq!(budget.stats(now).tokens, 496);
    one.succeeded(2, now);
    token.refund();
    assert_eq!(budget.stats(now).tokens, 500);
}

// Tokens.

#[test]
fn a_token_that_is_not_spent_is_given_back() {
    let budget = Budget::ratio(0.2).capacity(10, 0.9).build().unwrap();
    let (caller, now) = (budget.caller("get"), start());
    for _ in 0..1000 {
        drop(caller.take(Kind::Server, now).unwrap());
    }
    let mut token = caller.take(Kind::Server, now).unwrap();
    token.spend();
    drop(token);
    assert!(caller.take(Kind::Server, now + SECOND / 20).is_err());
}

#[test]
fn a_refund_is_for_the_schemes_that_do() {
    let budget = Budget::ratio(0.2).build().unwrap();
    let (caller, now) = (budget.caller("get"), start());
    let mut token = caller.take(Kind::Server, now).unwrap();
    token.spend();
    token.refund();
    assert!(caller.take(Kind::Server, now).is_err());
}

#[test]
fn a_refusal_says_that_it_is_local_and_when_the_next_token_comes() {
    let budget = Budget::ratio(0.2).build().unwrap();
    let (caller, now) = (budget.caller("get"), start());
    assert_eq!(take_all(&caller, now), 1);
    let later = now + Duration::from_millis(30);
    let empty = caller.take(Kind::Server, later).unwrap_err();
    assert_eq!(empty.next(), Some(now + SECOND / 10));
    assert_eq!(
        empty.to_string(),
        "the local retry budget is empty, the other side was not asked; the next token comes in 70ms",
    );
    let without = Budget::ratio(0.2).floor(0).build().unwrap();
    assert_eq!(
        without.caller("get").take(Kind::Server, now).unwrap_err().to_string(),
        "the local retry budget is empty, the other side was not asked; only further calls bring tokens in",
    );
}

#[test]
fn time_that_runs_back_brings_nothing_in() {
    let budget = Budget::ratio(0.2).build().unwrap();
    let (caller, now) = (budget.caller("get"), start());
    take_all(&caller, now);
    for _ in 0..100 {
        assert!(!granted(&caller, Kind::Server, now + SECOND / 20));
        assert!(!granted(&caller, Kind::Server, now - 1000 * SECOND));
    }
    assert!(granted(&caller, Kind::Server, now + SECOND / 10));
}

// Callers.

#[test]
fn a_flood_leaves_each_quiet_caller_its_share() {
    let budget = Budget::ratio(0.2).floor(30).size(300).build().unwrap();
    let mut now = start();
    let [flood, one, two] = ["flood", "one", "two"].map(|name| budget.caller(name));
    for caller in [&flood, &one, &two] {
        caller.first_attempt(now);
    }
    let (mut lent, mut quiet) = (0, 0);
    for _ in 0..1000 {
        now += SECOND / 10;
        lent += take_all(&flood, now);
        // Each of the quiet ones asks for its tenth of a third, and no more.
        for caller in [&one, &two] {
            assert!(granted(caller, Kind::Server, now) || now < start() + 10 * SECOND);
            quiet += 1;
        }
    }
    assert_eq!(quiet, 2000);
    assert!(lent >= 900, "{lent}");
}

#[test]
fn a_new_caller_retries_at_once_although_all_is_taken() {
    let budget = Budget::ratio(0.2).build().unwrap();
    let now = start();
    let flood = budget.caller("flood");
    flood.first_attempt(now);
    take_all(&flood, now);
    // A third of 100: the stock for two callers.
    assert_eq!(take_all(&budget.caller("new"), now), 33);
    assert_eq!(take_all(&flood, now), 0);
}

#[test]
fn a_caller_that_leaves_is_forgotten_and_returns() {
    let budget = Budget::ratio(0.2).build().unwrap();
    let now = start();
    let [stays, leaves] = ["stays", "leaves"].map(|name| budget.caller(name));
    stays.first_attempt(now);
    leaves.first_attempt(now);
    assert_eq!(budget.stats(now).callers, 2);
    let later = now + FORGET_AFTER + 2 * SECOND;
    stays.first_attempt(later);
    assert_eq!(budget.stats(later).callers, 1);
    assert_eq!(take_all(&stays, later), 50);
    assert_eq!(take_all(&leaves, later), 33);
    // The old handle and a new one are one caller.
    assert_eq!(take_all(&budget.caller("leaves"), later), 0);
    assert_eq!(budget.stats(later).callers, 2);
    // What the old handle gives back is the caller's again.
    let much_later = later + FORGET_AFTER + 20 * SECOND;
    assert!(granted(&budget.caller("leaves"), Kind::Other, much_later));
    let token = leaves.take(Kind::Other, much_later).unwrap();
    let left = take_all(&budget.caller("leaves"), much_later);
    assert!(left > 0 && !granted(&leaves, Kind::Other, much_later));
    drop(token);
    assert!(granted(&leaves, Kind::Other, much_later));
}

#[test]
fn weights_cut_the_floor() {
    let budget = Budget::ratio(0.0).floor(40).weight("gold", 3).build().unwrap();
    let now = start();
    let [gold, other] = ["gold", "other"].map(|name| budget.caller(name));
    for caller in [&gold, &other] {
        caller.first_attempt(now);
        take_all(caller, now);
    }
    // First the stock, a third of 400, is filled again.
    let filled = now + 10 * SECOND;
    for caller in [&gold, &other] {
        take_all(caller, filled);
    }
    assert_eq!(take_all(&gold, filled + SECOND), 30);
    assert_eq!(take_all(&other, filled + SECOND), 10);
}

#[test]
fn a_name_from_every_request_gets_nobody_more() {
    let budget = Budget::ratio(0.2).max_callers(100).build().unwrap();
    let now = start();
    let mut retries = 0;
    for call in 0..10_000 {
        let caller = budget.caller(&format!("trace-{call}"));
        caller.first_attempt(now);
        retries += take_all(&caller, now);
    }
    let stats = budget.stats(now);
    assert_eq!((stats.callers, stats.folded), (101, 9900));
    assert!(retries <= 2000 + 50 + 1, "{retries}");
    assert!(retries >= 50, "{retries}");
    assert!(budget.caller("one more").is_folded());
    assert!(!budget.caller("trace-3").is_folded());
    // Names that nobody uses any more make room.
    let later = now + FORGET_AFTER + 2 * SECOND;
    budget.stats(later);
    assert!(!budget.caller("one more").is_folded());
}

#[test]
fn a_long_name_is_a_caller_like_others_and_kept_short() {
    let long = "x".repeat(1 << 20);
    let now = start();
    let budget = Budget::ratio(0.0).weight(long.clone(), 3).build().unwrap();
    let [one, other] = [&long, &format!("{long}!")].map(|name| budget.caller(name));
    one.first_attempt(now);
    other.first_attempt(now);
    budget.caller(&long).first_attempt(now);
    assert_eq!(budget.stats(now).callers, 2);
    assert!(format!("{one:?}").len() < 500);
    // Its weight is its own.
    let later = now + 9 * SECOND;
    assert_eq!(take_all(&one, later) / take_all(&other, later), 3);
}

#[test]
fn a_full_house_makes_room_although_nobody_retries() {
    let budget = Budget::ratio(0.2).max_callers(2).build().unwrap();
    let (now, later) = (start(), start() + FORGET_AFTER + 5 * SECOND);
    let [stays, leaves] = ["stays", "leaves"].map(|name| budget.caller(name));
    stays.first_attempt(now);
    leaves.first_attempt(now);
    stays.first_attempt(later);
    assert!(!budget.caller("new").is_folded());
}

// The capacity.

#[test]
fn a_capacity_refuses_retries_and_never_first_attempts() {
    let budget = Budget::ratio(1.0).size(1000).floor(100).capacity(100, 0.5).build().unwrap();
    let (caller, now) = (budget.caller("get"), start());
    let full = now + SECOND;
    caller.first_attempt(now);
    assert_eq!(take_all(&caller, full), 50);
    let empty = caller.take(Kind::Server, full).unwrap_err();
    assert_eq!(empty.next(), Some(full + SECOND * 17 / 16));
    assert_eq!(
        empty.to_string(),
        "all 100 permits of this second are in use here, none is left for a retry, \
         the other side was not asked; the next permit comes in 1.0625s",
    );
    let busy = full + 2 * SECOND;
    (0..80).for_each(|_| caller.first_attempt(busy));
    assert_eq!(take_all(&caller, busy), 20);
    let flooded = busy + 2 * SECOND;
    (0..300).for_each(|_| caller.first_attempt(flooded));
    assert_eq!(take_all(&caller, flooded), 0);
    assert!(budget.stats(flooded).tokens > 400);
}

// Waiting.

#[test]
fn places_are_served_in_the_order_in_which_they_were_taken() {
    let budget = Budget::ratio(0.0).build().unwrap();
    let (caller, now) = (budget.caller("get"), start());
    take_all(&caller, now);
    let woken = std::sync::Arc::default();
    let mut places: Vec<_> = (1..=3).map(|_| caller.reserve(Kind::Other, now).unwrap()).collect();
    for (place, tenths) in places.iter_mut().zip(1..) {
        assert_eq!(place.at(), now + SECOND / 10 * tenths);
        assert!(poll(place, &woken, now).is_pending());
    }
    // Who does not wait in line does not pass it.
    assert_eq!(take_all(&caller, now + SECOND / 10), 0);
    let at = now + SECOND / 10;
    assert!(poll(&mut places[1], &woken, at).is_pending());
    let Poll::Ready(mut token) = poll(&mut places[0], &woken, at) else {
        panic!("its time has come")
    };
    token.spend();
    assert!(poll(&mut places[0], &woken, at).is_pending());
    assert_eq!(budget.stats(at).waiting, 2);
    // All of them in time, however late they ask.
    let late = now + SECOND;
    assert!(poll(&mut places[2], &woken, late).is_ready());
    assert!(poll(&mut places[1], &woken, late).is_ready());
}

#[test]
fn a_token_that_is_there_is_reserved_at_once() {
    let budget = Budget::ratio(0.2).build().unwrap();
    let (caller, now) = (budget.caller("get"), start());
    let mut place = caller.reserve(Kind::Other, now).unwrap();
    assert_eq!((place.at(), place.refusal()), (now, None));
    assert!(poll(&mut place, &std::sync::Arc::default(), now).is_ready());
}

#[test]
fn what_comes_in_wakes_the_first_in_line() {
    let budget = Budget::ratio(0.5).build().unwrap();
    let (caller, now) = (budget.caller("get"), start());
    take_all(&caller, now);
    let [first, second] = [(); 2].map(|()| std::sync::Arc::default());
    let mut places = [(); 2].map(|()| caller.reserve(Kind::Other, now).unwrap());
    assert!(poll(&mut places[0], &first, now).is_pending());
    assert!(poll(&mut places[1], &second, now).is_pending());
    caller.first_attempt(now);
    assert_eq!((first.times(), second.times()), (0, 0));
    caller.first_attempt(now);
    assert_eq!((first.times(), second.times()), (1, 0));
    assert!(poll(&mut places[0], &first, now).is_ready());
    // The token was dropped: it is the next one's.
    assert_eq!(second.times(), 1);
    assert!(poll(&mut places[1], &second, now).is_ready());
}

#[test]
fn who_gives_up_lets_those_behind_move_up() {
    let budget = Budget::ratio(0.0).build().unwrap();
    let (caller, now) = (budget.caller("get"), start());
    take_all(&caller, now);
    let woken = std::sync::Arc::default();
    let [mut first, second, mut third] =
        [(); 3].map(|()| caller.reserve(Kind::Other, now).unwrap());
    assert!(poll(&mut first, &woken, now).is_pending());
    assert!(poll(&mut third, &woken, now).is_pending());
    drop(second);
    // Only the first in line is told at once, and its time is the same.
    assert_eq!(woken.times(), 0);
    assert!(poll(&mut third, &woken, now).is_pending());
    assert_eq!(third.at(), now + SECOND / 10 * 2);
    // Served, not fetched, and given up.
    let at = now + SECOND / 10;
    budget.stats(at);
    drop(first);
    assert!(poll(&mut third, &woken, at).is_ready());
    assert!(granted(&caller, Kind::Other, at));
}

#[test]
fn who_becomes_the_first_learns_that_those_ahead_gave_up() {
    let budget = Budget::ratio(0.0).build().unwrap();
    let (caller, now) = (budget.caller("get"), start());
    take_all(&caller, now);
    let woken = std::sync::Arc::default();
    let mut places: Vec<_> = (0..5).map(|_| caller.reserve(Kind::Other, now).unwrap()).collect();
    for place in &mut places {
        assert!(poll(place, &woken, now).is_pending());
    }
    let mut last = places.pop().unwrap();
    assert_eq!(last.at(), now + SECOND / 10 * 5);
    // In the middle: the first is served at its time, and then the last knows.
    drop(places.drain(1..));
    assert_eq!(woken.times(), 0);
    let at = now + SECOND / 10;
    assert!(granted_in_line(&mut places[0], at));
    assert_eq!(woken.times(), 1 + 1);
    assert!(poll(&mut last, &woken, at).is_pending());
    assert_eq!(last.at(), now + SECOND / 10 * 2);
    // At the front: the next is woken alone.
    let mut more = [(); 2].map(|()| caller.reserve(Kind::Other, at).unwrap());
    for place in &mut more {
        assert!(poll(place, &woken, at).is_pending());
    }
    drop(last);
    assert_eq!(woken.times(), 1);
    assert!(poll(&mut more[0], &woken, at).is_pending());
    assert_eq!(more[0].at(), now + SECOND / 10 * 2);
}

fn granted_in_line(place: &mut Reservation, now: Instant) -> bool {
    match place.poll_ready(&mut Context::from_waker(Waker::noop()), now) {
        Poll::Ready(mut token) => {
            token.spend();
            true
        }
        Poll::Pending => false,
    }
}

/// Each of a long line polls and gives up, from the front and from the back: at
/// a cost that grew with its length this would take minutes.
#[test]
fn a_long_line_polls_and_gives_up_at_once() {
    let budget = Budget::ratio(0.0).floor(1).size(1).build().unwrap();
    let (caller, now) = (budget.caller("get"), start());
    take_all(&caller, now);
    let mut places: std::collections::VecDeque<_> =
        (0..50_000).map(|_| caller.reserve(Kind::Other, now).unwrap()).collect();
    let woken = std::sync::Arc::default();
    for place in &mut places {
        assert!(poll(place, &woken, now).is_pending());
    }
    while let Some(first) = places.pop_front() {
        drop((first, places.pop_back()));
        // The next one, at most.
        assert!(woken.times() <= 1);
        if let Some(first) = places.front_mut() {
            assert!(poll(first, &woken, now).is_pending());
            assert_eq!(first.at(), now + SECOND);
        }
    }
    assert_eq!((budget.stats(now).waiting, budget.stats(now).tokens), (0, 0));
}

#[test]
fn lines_take_turns_where_permits_are_short() {
    let budget = Budget::ratio(0.0).size(1000).capacity(2, 0.0).build().unwrap();
    let begin = start();
    let callers = ["one", "two", "three"].map(|name| budget.caller(name));
    callers.iter().for_each(|caller| caller.first_attempt(begin));
    let mut now = begin + 60 * SECOND;
    callers[0].first_attempt(now);
    callers[0].first_attempt(now);
    let mut lines =
        callers.map(|caller| [(); 4].map(|()| caller.reserve(Kind::Other, now).unwrap()));
    let served = |lines: &mut [[Reservation; 4]; 3], now| {
        let polled =
            lines.each_mut().map(|line| line.each_mut().map(|it| granted_in_line(it, now)));
        polled.map(|line| line.into_iter().filter(|&granted| granted).count())
    };
    for counts in [[1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 1, 0]] {
        now += SECOND * 17 / 16;
        assert_eq!(served(&mut lines, now), counts);
    }
}

#[test]
fn who_waits_behind_others_for_a_permit_asks_when_its_turn_comes() {
    let budget = Budget::ratio(0.0).size(1000).capacity(5, 0.5).build().unwrap();
    let begin = start();
    let caller = budget.caller("get");
    caller.first_attempt(begin);
    let mut now = begin + 90 * SECOND;
    (0..4).for_each(|_| caller.first_attempt(now));
    let mut places: Vec<_> = (0..300).map(|_| caller.reserve(Kind::Other, now).unwrap()).collect();
    let mut polls = 0;
    while let Some(next) = places.iter().map(Reservation::at).min() {
        now = next;
        places.retain_mut(|place| {
            let is_due = place.at() <= now;
            polls += usize::from(is_due);
            !(is_due && granted_in_line(place, now))
        });
    }
    assert_eq!(polls, 300);
    // Two a second, and the first of them as the only one left by first attempts.
    assert!(now - begin <= (90 + 160) * SECOND, "{:?}", now - begin);
}

#[test]
fn a_first_attempt_looks_at_no_line_that_it_does_not_serve() {
    let budget = Budget::ratio(0.2).floor(1).size(1).max_callers(4000).build().unwrap();
    let now = start();
    let callers: Vec<_> = (0..1000).map(|name| budget.caller(&name.to_string())).collect();
    let wait = |caller: &Caller| {
        take_all(caller, now);
        caller.reserve(Kind::Other, now).unwrap()
    };
    let mut places: Vec<_> = callers.iter().map(wait).collect();
    let other = budget.caller("other");
    // Nobody's line gets a whole token of so few: at a walk over all lines this
    // would take minutes.
    (0..2000).for_each(|_| other.first_attempt(now));
    assert_eq!(budget.stats(now).waiting, 1000);
    (0..20_000).for_each(|_| other.first_attempt(now));
    assert_eq!(budget.stats(now).waiting, 0);
    assert!(places.iter_mut().all(|place| granted_in_line(place, now)));
}

#[test]
fn without_a_floor_nobody_waits() {
    let now = start();
    for builder in [Budget::ratio(0.5).floor(0), Budget::aws_2_0(), Budget::grpc(2, 0.5)] {
        let budget = builder.build().unwrap();
        let caller = budget.caller("get");
        (0..2).for_each(|_| caller.failed(&Failure::transient(), now));
        if budget.stats(now).tokens > 0 {
            take_all(&caller, now);
        }
        let empty = caller.reserve(Kind::Other, now).unwrap_err();
        assert_eq!(empty.next(), None);
        assert_eq!(budget.stats(now).waiting, 0);
    }
}

#[test]
fn a_reservation_waits_for_the_capacity_too() {
    let budget = Budget::ratio(0.0).capacity(1, 0.0).build().unwrap();
    let (caller, now) = (budget.caller("get"), start());
    caller.first_attempt(now);
    let mut place = caller.reserve(Kind::Other, now).unwrap();
    let at = now + SECOND * 17 / 16;
    assert_eq!(place.at(), at);
    // A first attempt comes between.
    caller.first_attempt(now + SECOND / 2);
    let woken = std::sync::Arc::default();
    assert!(poll(&mut place, &woken, at).is_pending());
    let moved = place.at();
    assert_eq!(moved, now + SECOND * 25 / 16);
    assert!(poll(&mut place, &woken, moved).is_ready());
}

#[test]
fn who_waits_for_a_permit_under_the_threshold_waits_for_calls_alone() {
    let budget = Budget::grpc(10, 1.0).capacity(1, 0.0).build().unwrap();
    let (caller, now) = (budget.caller("get"), start());
    caller.first_attempt(now);
    let mut place = caller.reserve(Kind::Other, now).unwrap();
    let woken = std::sync::Arc::default();
    assert!(poll(&mut place, &woken, now).is_pending());
    let permit = now + SECOND * 17 / 16;
    assert_eq!(place.at(), permit);
    (0..8).for_each(|_| caller.failed(&Failure::transient(), now));
    // At the time that was said, none is known any more.
    assert!(poll(&mut place, &woken, permit).is_pending());
    assert!(place.at() > now + Duration::from_secs(86_400 * 365 * 290));
    assert_eq!(caller.reserve(Kind::Other, permit).unwrap_err().next(), None);
    assert_eq!(woken.times(), 0);
    // Over the threshold again, but first attempts have used up the capacity.
    caller.first_attempt(permit);
    (0..4).for_each(|_| caller.succeeded(1, permit));
    assert_eq!(woken.times(), 1);
    assert!(poll(&mut place, &woken, permit).is_pending());
    let at = place.at();
    assert!(at <= permit + SECOND * 17 / 16);
    assert!(poll(&mut place, &woken, at).is_ready());
}

#[test]
fn an_operation_in_line_stops_when_no_time_is_known_any_more() {
    let budget = Budget::grpc(10, 0.1).capacity(1, 0.0).build().unwrap();
    let resource = Resource::new("gateway").budget(budget.clone()).on_refusal(OnRefusal::Defer);
    let retrier = Retrier::builder().resource(resource).unwrap().build();
    let clock = VirtualClock::new();
    let policy = Policy::new(9, 60 * SECOND).backoff(Backoff::fixed(SECOND / 100));
    let operation = Operation::idempotent("get", policy).with(&retrier).resource("gateway");
    let running = operation.run(|_| async { Err::<(), _>(Busy) });
    let mut running = pin!(clock.clone().scope(running));
    let others = budget.caller("others");
    let mut failed = false;
    for _ in 0..100 {
        let polled = running.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        if let Poll::Ready(stopped) = polled {
            assert_eq!(stopped.unwrap_err().reason(), StopReason::BudgetExhausted);
            assert!(failed && clock.elapsed() < 2 * SECOND);
            return;
        }
        if !failed && budget.stats(clock.now()).waiting > 0 {
            (0..8).for_each(|_| others.failed(&Failure::transient(), clock.now()));
            failed = true;
        }
    }
    panic!("it polls without end");
}

#[derive(Debug)]
struct Busy;

impl Classify for Busy {
    fn classify(&self) -> Failure {
        Failure::transient()
    }
}

/// While first attempts use up the capacity, tokens come in for a long line.
#[test]
fn what_a_line_was_promised_is_nobodys_when_it_gives_up() {
    let budget = Budget::ratio(0.0).floor(10).size(100).capacity(100, 0.5).build().unwrap();
    let (caller, other, begin) = (budget.caller("get"), budget.caller("list"), start());
    take_all(&caller, begin);
    let busy = |at| (0..100).for_each(|_| other.first_attempt(at));
    busy(begin);
    let mut places: Vec<_> =
        (0..1000).map(|_| caller.reserve(Kind::Other, begin).unwrap()).collect();
    for tenths in 1..=3000 {
        busy(begin + SECOND / 10 * tenths);
    }
    let now = begin + 300 * SECOND;
    let stats = budget.stats(now);
    assert_eq!(stats.waiting, 1000);
    // A token for each in line; the other share and the stock are a third each.
    assert_eq!(stats.tokens, 1000 + 66);
    places.truncate(10);
    assert_eq!(budget.stats(now).tokens, 100);
    drop(places);
    assert_eq!(budget.stats(now).tokens, 100);
    let later = now + 2 * SECOND;
    let taken: usize = (0..60).map(|second| take_all(&caller, later + second * SECOND)).sum();
    assert!(taken <= 100 + 600, "{taken}");
}

proptest! {
    /// The time that a refusal names is enough, and the nanosecond before it is
    /// not, where the others leave nothing.
    #[test]
    fn the_next_token_comes_when_it_was_said_to(
        floor in 10..50_u32,
        others in 0..5_usize,
        waits in proptest::collection::vec(0..3_000_000_000_u64, 1..30),
    ) {
        // Nobody's share becomes full in so short a time, so nothing is lent.
        let budget = Budget::ratio(0.0).floor(floor).build().unwrap();
        let mut now = start();
        let caller = budget.caller("caller");
        let others: Vec<_> = (0..others).map(|other| budget.caller(&other.to_string())).collect();
        caller.first_attempt(now);
        others.iter().for_each(|other| other.first_attempt(now));
        for wait in waits {
            now += Duration::from_nanos(wait);
            for other in &others {
                take_all(other, now);
            }
            take_all(&caller, now);
            let next = caller.take(Kind::Other, now).unwrap_err().next().unwrap();
            prop_assert!(next > now);
            now = next - Duration::from_nanos(1);
            for other in &others {
                take_all(other, now);
            }
            prop_assert!(!granted(&caller, Kind::Other, now));
            now = next;
            prop_assert!(granted(&caller, Kind::Other, now));
        }
    }

    /// Whoever asks when and how, no more is granted than came in.
    #[test]
    fn the_budget_is_never_overdrawn(
        calls in proptest::collection::vec((0..5_u8, 0..4_usize, 0..500_u64), 0..300),
    ) {
        let budget = Budget::ratio(0.5).floor(4).size(8).capacity(40, 0.2).build().unwrap();
        let callers = [0, 1, 2, 3].map(|caller| budget.caller(&format!("caller {caller}")));
        let begin = start();
        let (mut now, mut firsts, mut spent) = (begin, 0, 0);
        let (mut tokens, mut places) = (Vec::new(), Vec::new());
        for (what, who, millis) in calls {
            now += Duration::from_millis(millis);
            match what {
                0 => {
                    callers[who].first_attempt(now);
                    firsts += 1;
                }
                1 => tokens.extend(callers[who].take(Kind::Other, now)),
                2 => places.extend(callers[who].reserve(Kind::Other, now)),
                3 => drop(tokens.pop()),
                _ => {
                    for mut token in tokens.drain(..) {
                        token.spend();
                        spent += 1;
                    }
                    places.retain_mut(|place| {
                        let polled = place.poll_ready(&mut Context::from_waker(Waker::noop()), now);
                        match polled {
                            Poll::Ready(token) => tokens.push(token),
                            Poll::Pending => return true,
                        }
                        false
                    });
                    if places.len() > 5 {
                        drop(places.remove(2));
                    }
                }
            }
            let came = 5.0 + 0.5 * f64::from(firsts) + 4.0 * (now - begin).as_secs_f64();
            let out = spent + tokens.len() as u32;
            prop_assert!(f64::from(out) <= came + 1e-6, "{out} of {came}");
        }
        // A day later there is no one left to wait for.
        let late = now + 86_400 * SECOND;
        for mut place in places {
            prop_assert!(place.at() <= now + 60 * SECOND);
            let polled = place.poll_ready(&mut Context::from_waker(Waker::noop()), late);
            if let Poll::Ready(mut token) = polled {
                token.spend();
            }
        }
    }
}

proptest! {
    /// Whatever happens, all that could be served is served, who knows no time is
    /// woken once there is one, and no more is held than fits or is promised.
    #[test]
    fn nobody_in_line_is_forgotten(
        scheme in 0..4_u8,
        calls in proptest::collection::vec((0..8_u8, 0..4_usize, 0..500_u64), 0..300),
    ) {
        let budget = match scheme {
            0 => Budget::ratio(0.5).floor(4).size(8).cost(Kind::Timeout, 3),
            1 => Budget::ratio(0.2).floor(2).size(40).cost(Kind::Timeout, 3).capacity(6, 0.3),
            2 => Budget::grpc(10, 0.5).capacity(3, 0.0),
            _ => Budget::aws_2_0().size(30).fair_share(true).capacity(4, 0.5),
        };
        let budget = budget.build().unwrap();
        let shared = &budget.0;
        let callers = [0, 1, 2, 3].map(|caller| budget.caller(&format!("caller {caller}")));
        let (mut now, woken) = (start(), std::sync::Arc::default());
        let mut places: Vec<Reservation> = Vec::new();
        for (what, who, millis) in calls {
            let caller = &callers[who];
            match what {
                0 => caller.first_attempt(now),
                1 => caller.failed(&Failure::transient(), now),
                2 => caller.succeeded(1, now),
                3 => drop(granted(caller, Kind::Other, now)),
                4 => now += Duration::from_millis(millis),
                5 if !places.is_empty() => drop(places.remove(millis as usize % places.len())),
                _ => {
                    let kind = [Kind::Other, Kind::Timeout][who % 2];
                    places.extend(caller.reserve(kind, now));
                }
            }
            for place in places.iter_mut().skip(who).take(2) {
                match poll(place, &woken, now) {
                    Poll::Ready(mut token) => token.spend(),
                    Poll::Pending => prop_assert!(place.at() > now),
                }
            }
            places.retain(Reservation::is_waiting);
            budget.stats(now);
            let book = &mut *shared.lock();
            let judged = book.judge_lines(shared);
            prop_assert!(judged.is_ok(), "{:?}", judged);
        }
    }
}

// Threads.

#[test]
fn deposits_of_many_threads_are_all_counted() {
    let budget = Budget::ratio(0.25).floor(0).size(100_000).build().unwrap();
    let now = start();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let caller = budget.caller("get");
            scope.spawn(move || (0..10_000).for_each(|_| caller.first_attempt(now)));
        }
    });
    assert_eq!(take_all(&budget.caller("get"), now), 10_000);
}

#[test]
fn threads_spend_what_they_bring_in_and_no_more() {
    let budget = Budget::ratio(0.5).floor(0).size(40_000).build().unwrap();
    let now = start();
    let spent: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|thread| {
                // Two callers, two threads each.
                let caller = budget.caller(if thread % 2 == 0 { "even" } else { "odd" });
                scope.spawn(move || {
                    let call = |call| {
                        caller.first_attempt(now);
                        let token = caller.take(Kind::Other, now);
                        let spends = call % 3 > 0;
                        token
                            .map(|mut token| {
                                if spends {
                                    token.spend()
                                }
                            })
                            .is_ok()
                            && spends
                    };
                    (0..10_000).filter(|&number| call(number)).count()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    // The start's stock, and 40 000 halves.
    assert_eq!(budget.stats(now).tokens, 20_000 + 20_000 - spent as u64);
}

#[test]
fn the_largest_numbers_are_counted_without_a_panic() {
    for size in [1, u32::MAX] {
        for floor in [0, 1, size] {
            for weight in [1, u32::MAX] {
                let builder = Budget::ratio(1.0).floor(floor).size(size).cost(Kind::Server, size);
                let budget = builder.weight("a", weight).build().unwrap();
                let (a, b) = (budget.caller("a"), budget.caller("b"));
                let mut now = start();
                for years in [0, 1, 100] {
                    now += years * 365 * 86_400 * SECOND;
                    for caller in [&a, &b, &a] {
                        caller.first_attempt(now);
                        for kind in [Kind::Server, Kind::Other] {
                            drop(caller.take(kind, now));
                            drop((caller.reserve(kind, now), caller.reserve(kind, now)));
                        }
                        granted(caller, Kind::Server, now);
                    }
                }
                assert!(budget.stats(now).tokens <= u64::from(size) * 5);
            }
        }
    }
}

#[test]
fn one_token_is_never_granted_to_two_threads() {
    const ROUNDS: u32 = 200_000;
    let budget = Budget::ratio(1.0).floor(0).build().unwrap();
    let now = start();
    let (arrived, wins) = (AtomicU32::new(0), AtomicU32::new(0));
    // Two stops a round, both threads at each.
    let stop = |stop: u32| {
        arrived.fetch_add(1, SeqCst);
        while arrived.load(SeqCst) < 2 * stop {
            std::thread::yield_now();
        }
    };
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let (caller, stop, wins) = (budget.caller("get"), &stop, &wins);
            scope.spawn(move || {
                for round in 1..=ROUNDS {
                    if thread == 0 {
                        caller.first_attempt(now);
                    }
                    stop(2 * round - 1);
                    if granted(&caller, Kind::Other, now) {
                        wins.fetch_add(1, SeqCst);
                    }
                    stop(2 * round);
                    assert_eq!(wins.load(SeqCst), round);
                }
            });
        }
    });
}
