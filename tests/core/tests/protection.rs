//! What the loop tells a resource's budget and breaker, asks of them, and tells
//! of them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "in helpers of tests")]

use std::collections::BTreeSet;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures::future::join;
use retry_core::breaker::{BreakerBuilder, State, Window};
use retry_core::budget::BudgetBuilder;
use retry_core::clock::VirtualClock;
use retry_core::observe::{BreakerChanged, BreakerState, BudgetChanged, Deferred, Event, Recorder};
use retry_core::{
    Backoff, Breaker, Budget, Clock as _, Decision, Failure, Jitter, Kind, Observer, OnRefusal,
    Operation, Policy, Resource, Retrier, RetrierBuilder, StopReason, Stopped,
};
use retry_core_tests::{BUSY, Failed, block_on, sleep};

const MS: Duration = Duration::from_millis(1);
const NS: Duration = Duration::from_nanos(1);
const SECOND: Duration = Duration::from_secs(1);

fn every(wait: Duration) -> Backoff {
    Backoff::fixed(wait).jitter(Jitter::None)
}

fn policy(max_attempts: u32) -> Policy {
    Policy::new(max_attempts, 3600 * SECOND).backoff(every(MS))
}

fn resource() -> Resource {
    Resource::new("gateway")
}

fn holding(resource: Resource) -> RetrierBuilder {
    Retrier::builder().resource(resource).unwrap()
}

fn operation(retrier: &Retrier, policy: Policy) -> Operation {
    Operation::idempotent("op", policy).with(retrier).resource("gateway")
}

/// Fails in the same way for ever.
fn fails(
    operation: Operation,
    failure: Failure,
) -> impl Future<Output = Result<(), Stopped<Failed>>> {
    operation.run(move |_| async move { Err::<(), _>(Failed(failure)) })
}

/// Fails for so many attempts, then succeeds.
fn recovers(
    operation: Operation,
    failures: u32,
) -> impl Future<Output = Result<(), Stopped<Failed>>> {
    operation.run(move |attempt| async move {
        if attempt.number() > failures { Ok(()) } else { Err(BUSY) }
    })
}

/// A budget behind a resource, and operations one after the other.
struct Bench {
    budget: Budget,
    retrier: Retrier,
    clock: VirtualClock,
}

impl Bench {
    fn new(budget: BudgetBuilder) -> Self {
        let budget = budget.build().unwrap();
        let retrier = holding(resource().budget(budget.clone())).build();
        Self { budget, retrier, clock: VirtualClock::new() }
    }

    fn tokens(&self) -> u64 {
        self.budget.stats(self.clock.now()).tokens
    }

    /// Why it stopped, and after how many attempts.
    fn fails(&self, max_attempts: u32, failure: Failure) -> (StopReason, u32) {
        let running = fails(operation(&self.retrier, policy(max_attempts)), failure);
        let stopped = block_on(&self.clock, running).unwrap_err();
        (stopped.reason(), stopped.attempts())
    }

    fn succeeds_after(&self, failures: u32) {
        let running = recovers(operation(&self.retrier, policy(failures + 1)), failures);
        block_on(&self.clock, running).unwrap();
    }
}

/// Half a token a first attempt, and nothing beside it.
fn half() -> BudgetBuilder {
    Budget::ratio(0.5).floor(0).size(100).fair_share(false)
}

#[test]
fn a_first_attempt_deposits_and_a_retry_does_not() {
    let bench = Bench::new(half());
    assert_eq!(bench.tokens(), 0);
    (0..4).for_each(|_| bench.succeeds_after(0));
    assert_eq!(bench.tokens(), 2);
    // Two and a half for its retries: a retry that deposited would pay for more.
    assert_eq!(bench.fails(9, Failure::transient()), (StopReason::BudgetExhausted, 3));
    assert_eq!(bench.tokens(), 0);
    bench.succeeds_after(0);
    assert_eq!(bench.tokens(), 1);
}

#[test]
fn a_ratio_is_kept_over_ten_thousand_calls() {
    let bench = Bench::new(Budget::ratio(0.6).floor(0));
    let attempts = (0..10_000).map(|_| bench.fails(2, Failure::transient()).1);
    let retries = attempts.map(|attempts| attempts - 1).sum::<u32>();
    assert!((5_999..=6_001).contains(&retries), "{retries}");
}

#[test]
fn a_single_call_is_retried_by_the_floor() {
    let bench = Bench::new(Budget::ratio(0.2));
    assert_eq!(bench.fails(2, Failure::transient()), (StopReason::AttemptsExhausted, 2));
}

#[test]
fn operations_of_one_resource_count_their_attempts_apart() {
    let retrier = holding(resource().budget(Budget::aws_2_0().build().unwrap())).build();
    let counted = |max_attempts, wait| {
        let policy = Policy::new(max_attempts, 3600 * SECOND).backoff(every(wait));
        let operation = operation(&retrier, policy);
        async move {
            let mut numbers = Vec::new();
            let running = operation.run(|attempt| {
                numbers.push(attempt.number());
                async { Err::<(), _>(BUSY) }
            });
            let stopped = running.await.unwrap_err();
            assert_eq!(stopped.reason(), StopReason::AttemptsExhausted);
            (numbers, stopped.attempts())
        }
    };
    let both = join(counted(5, SECOND), counted(3, 1500 * MS));
    let (long, short) = block_on(&VirtualClock::new(), both);
    assert_eq!(long, (vec![1, 2, 3, 4, 5], 5));
    assert_eq!(short, (vec![1, 2, 3], 3));
}

#[test]
fn aws_a_success_after_retries_gives_back_what_the_last_one_took() {
    for on_refusal in [OnRefusal::Stop, OnRefusal::Defer] {
        let budget = Budget::aws_2_0().build().unwrap();
        let resource = resource().budget(budget.clone()).on_refusal(on_refusal);
        let retrier = holding(resource).build();
        let bench = Bench { budget, retrier, clock: VirtualClock::new() };
        bench.fails(4, Failure::transient());
        assert_eq!(bench.tokens(), 485);
        bench.succeeds_after(1);
        assert_eq!(bench.tokens(), 485);
        bench.succeeds_after(3);
        assert_eq!(bench.tokens(), 475);
    }
}

#[test]
fn aws_a_success_of_the_first_attempt_brings_one_in() {
    let bench = Bench::new(Budget::aws_2_0());
    bench.fails(2, Failure::transient());
    assert_eq!(bench.tokens(), 495);
    bench.succeeds_after(0);
    assert_eq!(bench.tokens(), 496);
}

#[test]
fn aws_a_retry_costs_what_its_failure_was() {
    use Kind::{Connect, Other, Server, Throttled, Timeout};
    let kinds = [Timeout, Throttled, Connect, Server, Other];
    for on_refusal in [OnRefusal::Stop, OnRefusal::Defer] {
        let costs = |budget: BudgetBuilder| {
            let budget = budget.build().unwrap();
            let resource = resource().budget(budget.clone()).on_refusal(on_refusal);
            let retrier = holding(resource).build();
            let bench = Bench { budget, retrier, clock: VirtualClock::new() };
            kinds.map(|kind| {
                let before = bench.tokens();
                bench.fails(2, Failure::transient().with_kind(kind));
                before - bench.tokens()
            })
        };
        assert_eq!(costs(Budget::aws_2_0()), [10, 5, 5, 5, 5]);
        assert_eq!(costs(Budget::aws_2_1()), [14, 5, 14, 14, 14]);
    }
}

#[test]
fn aws_an_attempt_that_is_cut_costs_a_timeout() {
    let bench = Bench::new(Budget::aws_2_0());
    let operation = operation(&bench.retrier, policy(2).attempt_timeout(SECOND));
    let running = operation.run(|_| std::future::pending::<Result<(), Failed>>());
    block_on(&bench.clock, running).unwrap_err();
    assert_eq!(bench.tokens(), 490);
}

#[test]
fn grpc_failures_take_and_successes_bring() {
    let bench = Bench::new(Budget::grpc(10, 0.5));
    assert_eq!(bench.fails(4, Failure::transient()), (StopReason::AttemptsExhausted, 4));
    assert_eq!(bench.tokens(), 6);
    bench.fails(4, Failure::permanent());
    bench.fails(4, Failure::unknown());
    assert_eq!(bench.tokens(), 6);
    (0..2).for_each(|_| bench.succeeds_after(0));
    assert_eq!(bench.tokens(), 7);
    // One off, and a half on for each of the two.
    bench.succeeds_after(1);
    bench.succeeds_after(0);
    assert_eq!(bench.tokens(), 7);
    // At half there is no retry.
    assert_eq!(bench.fails(4, Failure::transient()), (StopReason::BudgetExhausted, 2));
    assert_eq!(bench.tokens(), 5);
}

/// The inner operation calls something else: what it came to says nothing about
/// what the outer one protects.
#[test]
fn a_nested_stop_is_charged_to_neither_budget_nor_breaker() {
    for failure in [Failure::transient(), Failure::permanent(), Failure::unknown()] {
        let budget = Budget::grpc(10, 0.5).build().unwrap();
        let resource = resource().budget(budget.clone());
        let resource = resource.breaker(Breaker::consecutive(1, SECOND)).unwrap();
        let retrier = holding(resource).build();
        let clock = VirtualClock::new();
        let running = operation(&retrier, policy(4))
            .run(|_| fails(Operation::idempotent("inner", policy(3)), failure));
        let stopped = block_on(&clock, running).unwrap_err();
        let inner = stopped.error().map(|inner| inner.reason());
        assert_eq!((Some(stopped.reason()), stopped.attempts()), (inner, 1));
        assert_eq!(budget.stats(clock.now()).tokens, 10);
        let breaker = retrier.breaker("gateway").unwrap();
        assert_eq!((breaker.state(clock.now()), breaker.openings()), (State::Closed, 0));
    }
}

/// A body that copes with the stop and then fails has failed by itself.
#[test]
fn a_failure_beside_a_stop_inside_is_charged_to_the_budget() {
    let bench = Bench::new(Budget::grpc(10, 0.5));
    let running = operation(&bench.retrier, policy(4)).run(|_| async {
        let inner = fails(Operation::idempotent("inner", policy(3)), Failure::transient());
        Err::<(), _>(inner.await.map_err(|_| BUSY).unwrap_err())
    });
    block_on(&bench.clock, running).unwrap_err();
    assert_eq!(bench.tokens(), 9);
}

/// Nor is the budget charged where only the caller had no time.
#[test]
fn an_attempt_that_was_cut_early_is_not_charged_to_the_budget() {
    let bench = Bench::new(Budget::grpc(10, 0.5));
    let hangs = || {
        let operation = operation(&bench.retrier, policy(1).attempt_timeout(SECOND));
        operation.run(|_| std::future::pending::<Result<(), Failed>>())
    };
    block_on(&bench.clock, retry_core::within(SECOND - NS, hangs())).unwrap_err();
    assert_eq!(bench.tokens(), 10);
    block_on(&bench.clock, hangs()).unwrap_err();
    assert_eq!(bench.tokens(), 9);
}

/// One token, and one more each second.
fn narrow() -> Budget {
    Budget::ratio(0.0).floor(1).size(1).fair_share(false).build().unwrap()
}

/// After one failure, for ten seconds, exactly.
fn breaker() -> BreakerBuilder {
    Breaker::consecutive(1, every(10 * SECOND)).process(0)
}

#[test]
fn the_token_of_a_retry_that_the_breaker_refuses_comes_back() {
    let budget = narrow();
    let resource = resource().budget(budget.clone()).breaker(breaker()).unwrap();
    let retrier = holding(resource).build();
    let clock = VirtualClock::new();
    let running = fails(operation(&retrier, policy(4)), Failure::transient());
    let stopped = block_on(&clock, running).unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::CircuitOpen, 1));
    assert_eq!(budget.stats(clock.now()).tokens, 1);
}

#[test]
fn deferred_by_the_breaker_a_retry_keeps_its_token_unspent() {
    let budget = Budget::aws_2_0().build().unwrap();
    let resource = resource().budget(budget.clone()).breaker(breaker()).unwrap();
    let retrier = holding(resource.on_refusal(OnRefusal::Defer)).build();
    let clock = VirtualClock::manual();
    let mut cx = Context::from_waker(Waker::noop());
    {
        let running = fails(operation(&retrier, policy(4)), Failure::transient());
        let mut running = pin!(clock.clone().scope(running));
        assert!(running.as_mut().poll(&mut cx).is_pending());
        clock.advance(SECOND);
        assert!(running.as_mut().poll(&mut cx).is_pending());
        assert!(running.as_mut().poll(&mut cx).is_pending());
        // It waits for the breaker.
        assert_eq!(budget.stats(clock.now()).tokens, 495);
    }
    assert_eq!(budget.stats(clock.now()).tokens, 500);
}

#[test]
fn a_first_attempt_that_the_breaker_refuses_deposits_nothing() {
    let budget = Budget::ratio(1.0).floor(0).size(10).fair_share(false).build().unwrap();
    let resource = resource().budget(budget.clone()).breaker(breaker()).unwrap();
    let retrier = holding(resource).build();
    let clock = VirtualClock::new();
    retrier.breaker("gateway").unwrap().open(clock.now(), Some(SECOND));
    let refused = recovers(operation(&retrier, policy(4)), 0);
    let stopped = block_on(&clock, refused).unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::CircuitOpen, 0));
    assert_eq!(budget.stats(clock.now()).tokens, 0);
    // One that waits for it deposits once, when it is made.
    let deferred = operation(&retrier, policy(4)).on_refusal(OnRefusal::Defer);
    block_on(&clock, recovers(deferred, 0)).unwrap();
    assert_eq!(clock.elapsed(), SECOND);
    assert_eq!(budget.stats(clock.now()).tokens, 1);
}

#[test]
fn a_token_exactly_at_the_deadline_is_too_late() {
    let run = |deadline| {
        let retrier = holding(resource().budget(narrow())).build();
        let policy = Policy::new(3, deadline).backoff(every(MS));
        let operation = operation(&retrier, policy).on_refusal(OnRefusal::Defer);
        let clock = VirtualClock::new();
        let stopped = block_on(&clock, fails(operation, Failure::transient())).unwrap_err();
        (stopped.reason(), stopped.attempts(), clock.elapsed())
    };
    assert_eq!(run(SECOND), (StopReason::BudgetExhausted, 2, MS));
    assert_eq!(run(SECOND + NS), (StopReason::AttemptsExhausted, 3, SECOND));
}

#[test]
fn a_breaker_that_is_half_open_exactly_at_the_deadline_is_too_late() {
    let run = |deadline| {
        let resource = resource().breaker(breaker()).unwrap().on_refusal(OnRefusal::Defer);
        let retrier = holding(resource).build();
        let clock = VirtualClock::new();
        retrier.breaker("gateway").unwrap().open(clock.now(), Some(SECOND));
        let operation = operation(&retrier, Policy::new(1, deadline));
        let stopped = block_on(&clock, fails(operation, Failure::transient())).unwrap_err();
        (stopped.reason(), stopped.attempts(), clock.elapsed())
    };
    assert_eq!(run(SECOND), (StopReason::CircuitOpen, 0, Duration::ZERO));
    assert_eq!(run(SECOND + NS), (StopReason::AttemptsExhausted, 1, SECOND));
}

/// The first in line counts on the whole floor, until another joins.
#[test]
fn in_line_a_permit_that_moves_past_the_deadline_stops_before_it() {
    let budget = Budget::ratio(0.0).floor(2).size(8).build().unwrap();
    let retrier = holding(resource().budget(budget.clone())).build();
    let clock = VirtualClock::new();
    let policy = Policy::new(9, 1100 * MS).backoff(every(MS));
    let waits = operation(&retrier, policy).on_refusal(OnRefusal::Defer);
    let joins = async {
        sleep(&clock, 600 * MS).await;
        for name in ["b", "c", "d"] {
            budget.caller(name).first_attempt(clock.now());
        }
    };
    let (result, ()) = block_on(&clock, join(fails(waits, Failure::transient()), joins));
    let stopped = result.unwrap_err();
    assert_eq!(stopped.reason(), StopReason::BudgetExhausted);
    // When it was promised its token, and not when the time is up.
    assert_eq!(stopped.deferrals().last().unwrap().until(), SECOND);
    assert_eq!((stopped.elapsed(), clock.elapsed()), (SECOND, SECOND));
    assert!(stopped.stop().to_string().contains("and the deadline is 1.1s"), "{stopped:?}");
}

#[test]
fn a_deferral_lasts_to_the_end_of_the_backoffs_wait_at_least() {
    let recorder = Recorder::new();
    let budget = narrow();
    let resource = resource().budget(budget.clone()).on_refusal(OnRefusal::Defer);
    let retrier = holding(resource).observer(recorder.clone()).build();
    let clock = VirtualClock::new();
    budget.caller("another").take(Kind::Other, clock.now()).unwrap().spend();
    // The next token is there after one second.
    let policy = Policy::new(2, 3600 * SECOND).backoff(every(3 * SECOND));
    let running = fails(operation(&retrier, policy), Failure::transient());
    let stopped = block_on(&clock, running).unwrap_err();
    assert_eq!((stopped.attempts(), stopped.elapsed()), (2, 3 * SECOND));
    let events = recorder.events(stopped.operation_id());
    let waits = events.iter().filter_map(|event| match event {
        Event::AttemptFailed { decision: Decision::ScheduleRetry(wait), .. } => {
            Some((wait.delay(), wait.start()))
        }
        Event::Deferred { elapsed, until, .. } => Some((*until - *elapsed, *until)),
        _ => None,
    });
    assert_eq!(waits.collect::<BTreeSet<_>>(), [(3 * SECOND, 3 * SECOND)].into());
}

/// What is told of resources.
#[derive(Default)]
struct Changes {
    breaker: Mutex<Vec<(String, BreakerState, u64)>>,
    budget: Mutex<Vec<(String, u64, bool)>>,
}

impl Observer for Changes {
    fn breaker_changed(&self, event: &BreakerChanged<'_>) {
        let BreakerChanged { resource, state, openings, .. } = *event;
        self.breaker.lock().unwrap().push((resource.to_owned(), state, openings));
    }

    fn budget_changed(&self, event: &BudgetChanged<'_>) {
        let BudgetChanged { resource, tokens, refused, .. } = *event;
        self.budget.lock().unwrap().push((resource.to_owned(), tokens, refused));
    }
}

#[test]
fn each_change_of_a_breaker_is_told_once() {
    let changes = Arc::new(Changes::default());
    let resource = resource().breaker(breaker()).unwrap().on_refusal(OnRefusal::Defer);
    let retrier = holding(resource).observer(Arc::clone(&changes)).build();
    // Opened, and again by the first probe; the second one closes it.
    let clock = VirtualClock::new();
    block_on(&clock, recovers(operation(&retrier, policy(4)), 2)).unwrap();
    block_on(&clock, recovers(operation(&retrier, policy(4)), 0)).unwrap();
    let told = changes.breaker.lock().unwrap().clone();
    let expected = [
        (BreakerState::Open, 1),
        (BreakerState::HalfOpen, 1),
        (BreakerState::Open, 2),
        (BreakerState::HalfOpen, 2),
        (BreakerState::Closed, 2),
    ];
    assert_eq!(told, expected.map(|(state, openings)| ("gateway".to_owned(), state, openings)));
    assert_eq!(*changes.budget.lock().unwrap(), []);
}

#[test]
fn each_retry_that_is_asked_for_is_told() {
    for on_refusal in [OnRefusal::Stop, OnRefusal::Defer] {
        let changes = Arc::new(Changes::default());
        let budget = Budget::aws_2_0().size(15).build().unwrap();
        let resource = resource().budget(budget).on_refusal(on_refusal);
        let retrier = holding(resource).observer(Arc::clone(&changes)).build();
        let clock = VirtualClock::new();
        let run = |failure| {
            let running = fails(operation(&retrier, policy(9)), failure);
            block_on(&clock, running).unwrap_err().reason()
        };
        // Nothing is asked for.
        run(Failure::permanent());
        assert_eq!(*changes.budget.lock().unwrap(), []);
        // No wait is known: deferred, it stops just the same.
        assert_eq!(run(Failure::transient()), StopReason::BudgetExhausted);
        let told = changes.budget.lock().unwrap().clone();
        let expected = [(10, false), (5, false), (0, false), (0, true)];
        assert_eq!(told, expected.map(|(tokens, refused)| ("gateway".to_owned(), tokens, refused)));
    }
}

/// Panics wherever a resource is the reason.
struct Panics;

impl Observer for Panics {
    fn deferred(&self, _: &Deferred<'_>) {
        panic!("deferred");
    }

    fn breaker_changed(&self, _: &BreakerChanged<'_>) {
        panic!("breaker_changed");
    }

    fn budget_changed(&self, _: &BudgetChanged<'_>) {
        panic!("budget_changed");
    }
}

#[test]
fn an_observer_that_panics_at_a_refusal_harms_nothing() {
    let run = |builder: fn(RetrierBuilder) -> RetrierBuilder| {
        let (recorder, changes) = (Recorder::new(), Arc::new(Changes::default()));
        let budget = narrow();
        let resource = resource().budget(budget.clone()).breaker(breaker()).unwrap();
        let resource = resource.on_refusal(OnRefusal::Defer);
        let builder = builder(holding(resource)).observer(recorder.clone());
        let retrier = builder.observer(Arc::clone(&changes)).build();
        let clock = VirtualClock::new();
        // The first retry has its token and waits for the breaker; the second
        // waits for both.
        budget.caller("another").take(Kind::Other, clock.now()).unwrap().spend();
        block_on(&clock, recovers(operation(&retrier, policy(4)), 2)).unwrap();
        let breaker = retrier.breaker("gateway").unwrap();
        assert_eq!(breaker.state(clock.now()), State::Closed);
        let told = (changes.breaker.lock().unwrap().len(), changes.budget.lock().unwrap().len());
        (recorder.take(), told, budget.stats(clock.now()), clock.elapsed())
    };
    let (events, told, stats, elapsed) = run(|builder| builder);
    assert_eq!(told, (5, 2));
    let deferred = events.iter().filter(|(_, event)| matches!(event, Event::Deferred { .. }));
    let reasons = deferred.map(|(_, event)| match event {
        Event::Deferred { reason, .. } => Some(*reason),
        _ => None,
    });
    let reasons: BTreeSet<_> = reasons.map(|reason| reason.unwrap().code()).collect();
    assert_eq!(reasons, ["budget_exhausted", "circuit_open"].into());
    let panicking = run(|builder| builder.observer(Panics));
    assert_eq!(panicking, (events, told, stats, elapsed));
}

#[test]
fn a_thousand_callers_draw_on_one_bucket() {
    let retries = |budget: BudgetBuilder| {
        let budget = budget.build().unwrap();
        let retrier = holding(resource().budget(budget.clone())).build();
        let clock = VirtualClock::manual();
        let mut cx = Context::from_waker(Waker::noop());
        // All at one instant: nothing comes in between.
        let scheduled = (0..1000).map(|tenant| {
            let operation = operation(&retrier, policy(2)).caller(format!("tenant-{tenant}"));
            let mut running = Box::pin(clock.clone().scope(fails(operation, Failure::transient())));
            let polled = running.as_mut().poll(&mut cx);
            let refused = matches!(polled, Poll::Ready(Err(stopped))
                if stopped.reason() == StopReason::BudgetExhausted);
            (!refused).then_some(running)
        });
        scheduled.flatten().collect::<Vec<_>>().len()
    };
    assert_eq!(retries(Budget::aws_2_0()), 100);
    assert_eq!(retries(Budget::ratio(0.0).floor(10).size(100).fair_share(false)), 1);
    let fair = retries(Budget::ratio(0.0).floor(10).size(100));
    assert!((1..=51).contains(&fair), "{fair}");
}

#[test]
fn an_operation_waits_for_sixteen_tokens_at_most() {
    let retrier = holding(resource().budget(narrow()).on_refusal(OnRefusal::Defer)).build();
    let clock = VirtualClock::new();
    let running = fails(operation(&retrier, policy(99)), Failure::transient());
    let stopped = block_on(&clock, running).unwrap_err();
    // The first attempt, the one that found a token, and those that waited.
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::BudgetExhausted, 18));
    assert_eq!((stopped.deferrals().len(), clock.elapsed()), (16, 16 * SECOND));
}

/// A retrier whose breaker is half-open with so many places, and its clock.
fn half_open(probes: u32) -> (Retrier, VirtualClock) {
    let breaker = breaker().probes(probes).lease(5 * SECOND);
    let retrier = holding(resource().breaker(breaker).unwrap()).build();
    let clock = VirtualClock::manual();
    retrier.breaker("gateway").unwrap().open(clock.now(), Some(SECOND));
    clock.advance(SECOND);
    (retrier, clock)
}

fn state(retrier: &Retrier, clock: &VirtualClock) -> State {
    retrier.breaker("gateway").unwrap().state(clock.now())
}

#[test]
fn of_a_hundred_operations_at_once_as_many_begin_as_there_are_probes() {
    let (retrier, clock) = half_open(10);
    let begun = AtomicU32::new(0);
    let mut cx = Context::from_waker(Waker::noop());
    let running = (0..100).map(|_| {
        let running = operation(&retrier, policy(2)).run(|_| async {
            begun.fetch_add(1, Ordering::Relaxed);
            std::future::pending::<Result<(), Failed>>().await
        });
        let mut running = Box::pin(clock.clone().scope(running));
        match running.as_mut().poll(&mut cx) {
            Poll::Pending => Ok(running),
            Poll::Ready(result) => Err(result.unwrap_err().reason()),
        }
    });
    let (probes, refused): (Vec<_>, Vec<_>) = running.partition(Result::is_ok);
    assert_eq!((probes.len(), begun.load(Ordering::Relaxed)), (10, 10));
    assert!(refused.into_iter().all(|reason| reason.err() == Some(StopReason::CircuitOpen)));
    drop(probes);
    assert_eq!(state(&retrier, &clock), State::HalfOpen { free: 10 });
}

#[test]
fn a_probe_that_says_nothing_gives_its_place_back() {
    let (retrier, clock) = half_open(1);
    let running = fails(operation(&retrier, policy(2)), Failure::unknown());
    block_on(&clock, running).unwrap_err();
    assert_eq!(state(&retrier, &clock), State::HalfOpen { free: 1 });
    // Nor does an operation that stopped inside it say anything.
    let running = operation(&retrier, policy(2)).run(|_| async {
        fails(Operation::idempotent("inner", policy(1)), Failure::permanent()).await
    });
    block_on(&clock, running).unwrap_err();
    assert_eq!(state(&retrier, &clock), State::HalfOpen { free: 1 });
}

#[test]
fn a_probe_that_never_ends_holds_its_place_for_its_lease() {
    let (retrier, clock) = half_open(1);
    let mut cx = Context::from_waker(Waker::noop());
    let hangs =
        || operation(&retrier, policy(2)).run(|_| std::future::pending::<Result<(), Failed>>());
    let mut first = pin!(clock.clone().scope(hangs()));
    assert!(first.as_mut().poll(&mut cx).is_pending());
    clock.advance(5 * SECOND - NS);
    let mut refused = pin!(clock.clone().scope(hangs()));
    assert!(refused.as_mut().poll(&mut cx).is_ready());
    clock.advance(NS);
    let mut second = pin!(clock.clone().scope(hangs()));
    assert!(second.as_mut().poll(&mut cx).is_pending());
}

/// Between admission and the first poll of the body there is only the closure
/// that makes the body.
#[test]
fn a_probe_whose_body_is_never_made_gives_its_place_back() {
    let (retrier, clock) = half_open(1);
    let running = operation(&retrier, policy(2))
        .run(|_| -> std::future::Ready<Result<(), Failed>> { panic!("no body") });
    let running = AssertUnwindSafe(clock.clone().scope(running));
    catch_unwind(|| futures::executor::block_on(running)).unwrap_err();
    assert_eq!(state(&retrier, &clock), State::HalfOpen { free: 1 });
}

#[test]
fn an_attempt_that_began_while_closed_does_not_decide_the_probe() {
    for result in [Ok(()), Err(Failed(Failure::transient()))] {
        let retrier = holding(resource().breaker(breaker()).unwrap()).build();
        let clock = VirtualClock::manual();
        let mut cx = Context::from_waker(Waker::noop());
        let running = operation(&retrier, policy(1)).run(|_| async {
            sleep(&clock, 2 * SECOND).await;
            result
        });
        let mut running = pin!(clock.clone().scope(running));
        assert!(running.as_mut().poll(&mut cx).is_pending());
        retrier.breaker("gateway").unwrap().open(clock.now(), Some(SECOND));
        clock.advance(2 * SECOND);
        assert!(running.as_mut().poll(&mut cx).is_ready());
        assert_eq!(state(&retrier, &clock), State::HalfOpen { free: 1 });
    }
}

/// In a window of time, a success counts when it came and not when its attempt
/// began.
#[test]
fn a_success_counts_when_the_attempt_ends() {
    let window = Window::time(10 * SECOND);
    let breaker = Breaker::rate(0.6, window.minimum(1), every(SECOND));
    let retrier = holding(resource().breaker(breaker).unwrap()).build();
    let clock = VirtualClock::new();
    let running = operation(&retrier, policy(1)).run(|_| async {
        sleep(&clock, 8 * SECOND).await;
        Ok::<_, Failed>(())
    });
    block_on(&clock, running).unwrap();
    block_on(&clock, sleep(&clock, 6 * SECOND));
    let running = fails(operation(&retrier, policy(1)), Failure::transient());
    block_on(&clock, running).unwrap_err();
    // One of two.
    assert_eq!(state(&retrier, &clock), State::Closed);
}

/// The loop never does it; a caller who uses the budget alone may.
#[test]
fn a_token_that_is_refunded_before_it_is_spent_comes_back_once() {
    let bench = Bench::new(Budget::aws_2_0());
    let (caller, now) = (bench.budget.caller("op"), bench.clock.now());
    let take = || caller.take(Kind::Other, now).unwrap();
    take().spend();
    take().refund();
    assert_eq!(bench.tokens(), 495);
    let mut token = take();
    token.spend();
    token.refund();
    assert_eq!(bench.tokens(), 495);
}

#[test]
fn a_rejected_value_is_charged_as_a_failure() {
    let budget = Budget::grpc(10, 0.5).build().unwrap();
    let resource = resource().budget(budget.clone()).breaker(breaker()).unwrap();
    let retrier = holding(resource).build();
    let clock = VirtualClock::new();
    let operation = operation(&retrier, policy(1)).reject(|_: &u8| true);
    assert_eq!(block_on(&clock, operation.run(|_| async { Ok::<_, Failed>(7) })).unwrap(), 7);
    assert!(matches!(state(&retrier, &clock), State::Open { .. }));
    assert_eq!(budget.stats(clock.now()).tokens, 9);
}

/// Without a breaker of its own to tell, an inner operation tells by its stop.
#[test]
fn a_probe_learns_of_the_stop_of_an_operation_that_went_with_it() {
    for (failure, opens) in [(Failure::transient(), true), (Failure::unknown(), false)] {
        let (retrier, clock) = half_open(1);
        let running =
            operation(&retrier, policy(1)).run(|_| fails(operation(&retrier, policy(1)), failure));
        let stopped = block_on(&clock, running).unwrap_err();
        // The inner one was not refused.
        assert_eq!(stopped.error().unwrap().attempts(), 1);
        let state = state(&retrier, &clock);
        assert_eq!(matches!(state, State::Open { .. }), opens, "{failure}: {state}");
    }
}

/// To go with a probe is not to pass by a breaker that is open.
#[test]
fn an_operation_inside_another_on_one_resource_is_refused_where_it_is_open() {
    let retrier = holding(resource().breaker(breaker()).unwrap()).build();
    let clock = VirtualClock::new();
    let running = operation(&retrier, policy(1)).run(|_| async {
        retrier.breaker("gateway").unwrap().open(clock.now(), None);
        recovers(operation(&retrier, policy(1)), 0).await
    });
    let stopped = block_on(&clock, running).unwrap_err();
    assert_eq!(stopped.reason(), StopReason::CircuitOpen);
    assert_eq!(stopped.error().unwrap().attempts(), 0);
}

#[test]
fn an_operation_inside_another_on_another_resource_is_on_its_own() {
    let budget = half().build().unwrap();
    let gateway = resource().budget(budget.clone()).breaker(breaker()).unwrap();
    let retrier = holding(gateway).resource(Resource::new("bank")).unwrap().build();
    let clock = VirtualClock::new();
    let inside = || {
        let bank = Operation::idempotent("bank", policy(1)).with(&retrier).resource("bank");
        block_on(&clock, bank.run(|_| recovers(operation(&retrier, policy(1)), 0)))
    };
    inside().unwrap();
    inside().unwrap();
    assert_eq!(budget.stats(clock.now()).tokens, 1);
    // All places are taken by another operation's probe.
    retrier.breaker("gateway").unwrap().open(clock.now(), Some(SECOND));
    block_on(&clock, sleep(&clock, SECOND));
    let _probe = retrier.breaker("gateway").unwrap().admit(clock.now()).unwrap();
    assert_eq!(inside().unwrap_err().reason(), StopReason::CircuitOpen);
}
