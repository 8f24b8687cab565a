//! Operations that name a resource: its budget, its breaker, and what follows
//! when one of them says no.
#![allow(clippy::unwrap_used, reason = "in helpers of tests")]

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures::future::join_all;
use retry_core::breaker::State;
use retry_core::clock::VirtualClock;
use retry_core::observe::{Event, Recorder};
use retry_core::{
    Backoff, Breaker, Budget, Clock as _, Decision, Failure, Jitter, OnRefusal, Operation, Policy,
    Resource, ResourceError, Retrier, RetrierBuilder, StopReason, Stopped,
};
use retry_core_tests::{BUSY, Failed, block_on, sleep};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

fn every(wait: Duration) -> Backoff {
    Backoff::fixed(wait).jitter(Jitter::None)
}

fn policy() -> Policy {
    Policy::new(4, 60 * SECOND).backoff(every(MS))
}

fn resource() -> Resource {
    Resource::new("gateway")
}

fn holding(resource: Resource) -> RetrierBuilder {
    Retrier::builder().resource(resource).unwrap()
}

fn operation(retrier: &Retrier) -> Operation {
    Operation::idempotent("op", policy()).with(retrier).resource("gateway")
}

fn fails(operation: Operation) -> impl Future<Output = Result<(), Stopped<Failed>>> {
    operation.run(|_| async { Err::<(), _>(BUSY) })
}

/// One token that comes back within a second, and none beside it.
fn narrow() -> Budget {
    Budget::ratio(0.0).floor(1).size(1).build().unwrap()
}

#[test]
fn an_empty_budget_stops_the_retry_and_says_that_it_was_local() {
    let retrier = holding(resource().budget(narrow())).build();
    let clock = VirtualClock::new();
    let stopped = block_on(&clock, fails(operation(&retrier))).unwrap_err();
    assert_eq!(stopped.reason(), StopReason::BudgetExhausted);
    assert!(stopped.is_local());
    // The floor's first token, and no more.
    assert_eq!(stopped.attempts(), 2);
    let text = stopped.to_string();
    assert!(
        text.contains("because the local retry budget is empty; the next permit comes"),
        "{text}"
    );
}

#[test]
fn a_first_attempt_needs_no_token() {
    let retrier = holding(resource().budget(narrow())).build();
    block_on(&VirtualClock::new(), async {
        for _ in 0..10 {
            let result = operation(&retrier).run(|_| async { Ok::<_, Failed>(7) }).await;
            assert_eq!(result.unwrap(), 7);
            let _ = fails(operation(&retrier)).await;
        }
    });
}

#[test]
fn errors_that_are_not_retried_take_no_token() {
    let budget = narrow();
    let retrier = holding(resource().budget(budget.clone())).build();
    let clock = VirtualClock::new();
    for failure in [Failure::permanent(), Failure::unknown()] {
        let running = operation(&retrier).run(|_| async { Err::<(), _>(Failed(failure)) });
        block_on(&clock, running).unwrap_err();
    }
    assert_eq!(budget.stats(clock.now()).tokens, 1);
}

#[test]
fn the_token_of_a_retry_that_is_never_made_comes_back() {
    let budget = narrow();
    let retrier = holding(resource().budget(budget.clone())).build();
    let clock = VirtualClock::manual();
    {
        let mut running = pin!(clock.clone().scope(fails(operation(&retrier))));
        let mut cx = Context::from_waker(Waker::noop());
        assert!(running.as_mut().poll(&mut cx).is_pending());
        assert_eq!(budget.stats(clock.now()).tokens, 0);
    }
    assert_eq!(budget.stats(clock.now()).tokens, 1);
}

#[test]
fn deferred_it_waits_for_its_token_once_and_counts_no_attempt() {
    let recorder = Recorder::new();
    let resource = resource().budget(narrow()).on_refusal(OnRefusal::Defer);
    let retrier = holding(resource).observer(recorder.clone()).build();
    let clock = VirtualClock::new();
    let stopped = block_on(&clock, fails(operation(&retrier))).unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::AttemptsExhausted, 4));
    // Attempt 2 has the first token; 3 and 4 wait for one each.
    assert_eq!(stopped.deferrals().len(), 2);
    assert!(stopped.elapsed() > SECOND, "{:?}", stopped.elapsed());
    let story = stopped.story().to_string();
    assert!(story.contains("deferred at 1ms until 1s: budget_exhausted"), "{story}");

    let events = recorder.events(stopped.operation_id());
    let deferred: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::Deferred { attempts, reason, elapsed, until } => {
                assert_eq!(*reason, StopReason::BudgetExhausted);
                assert!(until > elapsed);
                Some((*attempts, *until))
            }
            _ => None,
        })
        .collect();
    assert_eq!(deferred.iter().map(|(attempts, _)| *attempts).collect::<Vec<_>>(), [2, 3]);
    // What is told is when it starts.
    let starts: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::AttemptStarted { elapsed, .. } => Some(*elapsed),
            _ => None,
        })
        .collect();
    assert_eq!(starts[2..], [deferred[0].1, deferred[1].1]);
    let delays = events.iter().filter_map(|event| match event {
        Event::AttemptFailed { decision: Decision::ScheduleRetry(wait), .. } => {
            Some((wait.is_deferred(), wait.start()))
        }
        _ => None,
    });
    assert_eq!(delays.collect::<Vec<_>>()[1..], [(true, starts[2]), (true, starts[3])]);
}

#[test]
fn a_deferral_past_the_deadline_stops_with_the_refusal() {
    let retrier = holding(resource().budget(narrow())).build();
    let policy = Policy::new(9, 500 * MS).backoff(every(MS));
    let operation = Operation::idempotent("op", policy).with(&retrier).resource("gateway");
    let operation = operation.on_refusal(OnRefusal::Defer);
    let clock = VirtualClock::new();
    let stopped = block_on(&clock, fails(operation)).unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::BudgetExhausted, 2));
    assert!(stopped.elapsed() < 10 * MS, "it waited for nothing");
    assert!(stopped.stop().to_string().contains("and the deadline is 500ms"), "{}", stopped.stop());
}

#[test]
fn a_waiter_that_is_dropped_gives_its_place_to_the_next() {
    let resource = resource().budget(narrow()).on_refusal(OnRefusal::Defer);
    let retrier = holding(resource).build();
    let clock = VirtualClock::manual();
    let mut cx = Context::from_waker(Waker::noop());
    let mut first = pin!(Some(Box::pin(clock.clone().scope(fails(operation(&retrier))))));
    let calls = AtomicU32::new(0);
    let counted = operation(&retrier).run(|_| async {
        calls.fetch_add(1, Ordering::Relaxed);
        Err::<(), _>(BUSY)
    });
    let mut second = pin!(clock.clone().scope(counted));
    let mut poll_first = |cx: &mut Context<'_>| {
        first.as_mut().get_mut().as_mut().unwrap().as_mut().poll(cx).is_pending()
    };
    // The first takes the token, and both stand in line for the next.
    for _ in 0..4 {
        assert!(poll_first(&mut cx));
        assert!(second.as_mut().poll(&mut cx).is_pending());
        clock.advance(MS);
    }
    assert_eq!(retrier.budget("gateway").unwrap().stats(clock.now()).waiting, 2);
    first.set(None);
    assert_eq!(retrier.budget("gateway").unwrap().stats(clock.now()).waiting, 1);
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    clock.advance(SECOND);
    assert!(second.as_mut().poll(&mut cx).is_pending());
    assert_eq!(calls.load(Ordering::Relaxed), 2);
}

/// After two failures, for ten seconds, exactly.
fn breaker() -> retry_core::breaker::BreakerBuilder {
    Breaker::consecutive(2, every(10 * SECOND)).process(0)
}

#[test]
fn an_open_breaker_stops_before_the_first_attempt() {
    let retrier = holding(resource().breaker(breaker()).unwrap()).build();
    let clock = VirtualClock::new();
    let stopped = block_on(&clock, fails(operation(&retrier))).unwrap_err();
    // Asked again before each attempt: the third is refused.
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::CircuitOpen, 2));
    assert!(stopped.error().is_some());
    let calls = AtomicU32::new(0);
    let stopped = block_on(
        &clock,
        operation(&retrier).run(|_| async {
            calls.fetch_add(1, Ordering::Relaxed);
            Err::<(), _>(BUSY)
        }),
    )
    .unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::CircuitOpen, 0));
    assert!(stopped.error().is_none() && stopped.is_local());
    assert_eq!(calls.into_inner(), 0);
    let text = stopped.to_string();
    assert!(
        text.contains(
            "circuit_open before its first attempt, because the local circuit breaker is open"
        ),
        "{text}"
    );
}

#[test]
fn deferred_by_a_breaker_the_attempt_is_a_probe() {
    let recorder = Recorder::new();
    let resource = resource().breaker(breaker()).unwrap().on_refusal(OnRefusal::Defer);
    let retrier = holding(resource).observer(recorder.clone()).build();
    let clock = VirtualClock::new();
    let broken = AtomicU32::new(2);
    let running = operation(&retrier).run(|_| async {
        match broken.load(Ordering::Relaxed) {
            0 => Ok(7),
            left => {
                broken.store(left - 1, Ordering::Relaxed);
                Err(BUSY)
            }
        }
    });
    assert_eq!(block_on(&clock, running).unwrap(), 7);
    assert_eq!(clock.elapsed(), 10 * SECOND + MS);
    assert_eq!(retrier.breaker("gateway").unwrap().state(clock.now()), State::Closed);
    let id = recorder.operations().pop().unwrap();
    let deferred = recorder.events(&id).into_iter().find_map(|event| match event {
        Event::Deferred { attempts, elapsed, reason, until } => {
            Some((attempts, elapsed, reason, until))
        }
        _ => None,
    });
    let expected = (2, 2 * MS, StopReason::CircuitOpen, 10 * SECOND + MS);
    assert_eq!(deferred, Some(expected));
}

#[test]
fn deferred_before_the_first_attempt_no_attempt_is_counted() {
    let recorder = Recorder::new();
    let resource = resource().breaker(breaker()).unwrap().on_refusal(OnRefusal::Defer);
    let retrier = holding(resource).observer(recorder.clone()).build();
    let clock = VirtualClock::manual();
    retrier.breaker("gateway").unwrap().open(clock.now(), Some(5 * SECOND));
    let mut running = pin!(clock.clone().scope(fails(operation(&retrier))));
    let mut cx = Context::from_waker(Waker::noop());
    assert!(running.as_mut().poll(&mut cx).is_pending());
    let id = recorder.operations().pop().unwrap();
    assert!(
        matches!(recorder.events(&id)[..], [Event::Deferred { attempts: 0, .. }]),
        "{:?}",
        recorder.events(&id)
    );
    retrier.shutdown();
    let Poll::Ready(result) = running.as_mut().poll(&mut cx) else { panic!("it waits on") };
    let stopped = result.unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::Cancelled, 0));
}

#[test]
fn an_operation_is_deferred_sixteen_times_at_most() {
    let resource = resource().breaker(breaker()).unwrap().on_refusal(OnRefusal::Defer);
    let retrier = holding(resource).build();
    let clock = VirtualClock::new();
    let policy = Policy::new(2, 3600 * SECOND);
    let operation = Operation::idempotent("op", policy).with(&retrier).resource("gateway");
    let breaker = retrier.breaker("gateway").unwrap();
    breaker.open(clock.now(), Some(SECOND));
    let again = async {
        // Opened again just before it would be half-open, for ever.
        for _ in 0..40 {
            sleep(&clock, 900 * MS).await;
            breaker.open(clock.now(), Some(SECOND));
        }
    };
    let both = async { futures::future::join(fails(operation), again).await.0 };
    let stopped = block_on(&clock, both).unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::CircuitOpen, 0));
    assert_eq!(stopped.deferrals().len(), 16);
    assert!(stopped.stop().to_string().contains("16 times already"), "{}", stopped.stop());
}

/// The caller's own cancellation says nothing about the service.
#[test]
fn cancelled_attempts_leave_the_breaker_closed() {
    let retrier = holding(resource().breaker(breaker()).unwrap()).build();
    let clock = VirtualClock::manual();
    for _ in 0..9 {
        let hangs = operation(&retrier).run(|_| std::future::pending::<Result<(), Failed>>());
        let mut running = pin!(clock.clone().scope(hangs));
        assert!(running.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    assert_eq!(retrier.breaker("gateway").unwrap().state(clock.now()), State::Closed);
}

#[test]
fn a_probe_that_is_cancelled_gives_its_place_back() {
    let retrier = holding(resource().breaker(breaker()).unwrap()).build();
    let clock = VirtualClock::manual();
    let breaker = retrier.breaker("gateway").unwrap();
    breaker.open(clock.now(), Some(SECOND));
    clock.advance(SECOND);
    let mut cx = Context::from_waker(Waker::noop());
    for _ in 0..3 {
        let hangs = operation(&retrier).run(|_| std::future::pending::<Result<(), Failed>>());
        let mut running = pin!(clock.clone().scope(hangs));
        assert!(running.as_mut().poll(&mut cx).is_pending());
        assert_eq!(breaker.state(clock.now()), State::HalfOpen { free: 0 });
    }
    assert_eq!(breaker.state(clock.now()), State::HalfOpen { free: 1 });
}

#[test]
fn a_resource_that_the_retrier_does_not_know_stops_and_lists_those_it_knows() {
    let retrier = holding(resource()).resource(Resource::new("bank")).unwrap().build();
    let operation = Operation::idempotent("op", policy()).with(&retrier).resource("gatway");
    let stopped = block_on(&VirtualClock::new(), fails(operation)).unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::InvalidPolicy, 0));
    assert_eq!(
        stopped.stop().to_string(),
        "the retrier knows no resource `gatway`; it knows `bank`, `gateway`"
    );
}

#[test]
fn operations_that_name_none_use_the_default() {
    let builder = holding(resource().budget(narrow())).default_resource("gateway").unwrap();
    let retrier = builder.build();
    let operation = Operation::idempotent("op", policy()).with(&retrier);
    let stopped = block_on(&VirtualClock::new(), fails(operation)).unwrap_err();
    assert_eq!(stopped.reason(), StopReason::BudgetExhausted);
}

#[test]
fn what_is_wrong_with_a_resource_is_said_where_it_is_added() {
    let text = |error: ResourceError| error.to_string();
    assert_eq!(
        text(Retrier::builder().resource(Resource::new("")).unwrap_err()),
        "the name of a resource is empty; give it the one that operations name it by"
    );
    assert_eq!(
        text(holding(resource()).resource(resource()).unwrap_err()),
        "the retrier has a resource `gateway` already; name each one once"
    );
    assert_eq!(
        text(Retrier::builder().default_resource("gateway").unwrap_err()),
        "`gateway` cannot be the default, because the retrier has no resource yet; add it first \
         with `resource`"
    );
    assert_eq!(
        text(holding(resource()).default_resource("bank").unwrap_err()),
        "`bank` cannot be the default, because the retrier has no such resource; it has `gateway`"
    );
    let broken = resource().breaker(Breaker::consecutive(0, SECOND)).unwrap_err().to_string();
    assert!(broken.starts_with("resource `gateway`: "), "{broken}");
}

/// One floods, two are quiet: each of the quiet ones finds its part.
#[test]
fn callers_share_what_comes_in() {
    let budget = Budget::ratio(0.0).floor(6).size(12).build().unwrap();
    let retrier = holding(resource().budget(budget)).build();
    let clock = VirtualClock::new();
    let policy = Policy::new(2, 60 * SECOND).backoff(every(MS));
    let retried = |caller: &'static str, calls: u32, gap: Duration| {
        let (retrier, clock) = (retrier.clone(), clock.clone());
        async move {
            let retried = AtomicU32::new(0);
            for _ in 0..calls {
                let operation = Operation::idempotent("op", policy).with(&retrier);
                let running = operation.resource("gateway").caller(caller).run(|attempt| {
                    if attempt.number() == 2 {
                        retried.fetch_add(1, Ordering::Relaxed);
                    }
                    async { Err::<(), _>(BUSY) }
                });
                let _ = running.await;
                sleep(&clock, gap).await;
            }
            retried.into_inner()
        }
    };
    let all = [
        retried("flood", 3000, 10 * MS),
        retried("quiet", 30, SECOND),
        retried("also quiet", 30, SECOND),
    ];
    let [flood, quiet, also_quiet] = block_on(&clock, join_all(all))[..] else { unreachable!() };
    assert_eq!((quiet, also_quiet), (30, 30));
    // The rest of what came in in 30 seconds is lent.
    assert!((100..=132).contains(&flood), "{flood}");
}

/// It waits as before when it was switched on again before it looked.
#[test]
fn switched_off_a_deferred_operation_stops() {
    for back_on in [false, true] {
        let resource = resource().breaker(breaker()).unwrap().on_refusal(OnRefusal::Defer);
        let retrier = holding(resource).build();
        let clock = VirtualClock::manual();
        retrier.breaker("gateway").unwrap().open(clock.now(), Some(5 * SECOND));
        let mut running = pin!(clock.clone().scope(fails(operation(&retrier))));
        let mut cx = Context::from_waker(Waker::noop());
        assert!(running.as_mut().poll(&mut cx).is_pending());
        retrier.switch_off();
        if back_on {
            retrier.switch_on();
            assert!(running.as_mut().poll(&mut cx).is_pending());
            continue;
        }
        let Poll::Ready(result) = running.as_mut().poll(&mut cx) else { panic!("it waits on") };
        let stopped = result.unwrap_err();
        assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::Disabled, 0));
    }
}

/// A clock that counts how often it is read.
#[derive(Clone)]
struct Counting {
    clock: VirtualClock,
    reads: std::sync::Arc<AtomicU32>,
}

impl retry_core::Clock for Counting {
    fn now(&self) -> std::time::Instant {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.clock.now()
    }

    fn sleep_until(&self, at: std::time::Instant) -> retry_core::clock::Sleep {
        self.clock.sleep_until(at)
    }
}

/// The budget is told the times that the loop has read anyway.
#[test]
fn a_budget_reads_no_clock_on_the_happy_path() {
    let reads = |retrier: RetrierBuilder, resource: bool| {
        let reads = std::sync::Arc::new(AtomicU32::new(0));
        let clock = Counting { clock: VirtualClock::new(), reads: reads.clone() };
        let retrier = retrier.clock(clock).build();
        let operation = Operation::idempotent("op", policy()).with(&retrier);
        let operation = if resource { operation.resource("gateway") } else { operation };
        let running = operation.run(|_| async { Ok::<_, Failed>(7) });
        assert_eq!(futures::executor::block_on(running).unwrap(), 7);
        reads.load(Ordering::Relaxed)
    };
    let without = reads(Retrier::builder(), false);
    for budget in [Budget::ratio(0.2), Budget::aws_2_0(), Budget::grpc(10, 0.1)] {
        let with = reads(holding(resource().budget(budget.build().unwrap())), true);
        assert_eq!(with, without);
    }
    assert_eq!(without, 1);
}

/// The gauge of an empty budget is zero, whatever a new caller would find.
#[test]
fn what_is_told_of_a_budget_leaves_the_stock_out() {
    #[derive(Default)]
    struct Told(std::sync::Mutex<Vec<(u64, bool)>>);
    impl retry_core::Observer for Told {
        fn budget_changed(&self, event: &retry_core::observe::BudgetChanged<'_>) {
            self.0.lock().unwrap().push((event.tokens, event.refused));
        }
    }
    let told = std::sync::Arc::new(Told::default());
    let budget = Budget::ratio(0.2).build().unwrap();
    let retrier = holding(resource().budget(budget.clone())).observer(told.clone()).build();
    let clock = VirtualClock::new();
    block_on(&clock, fails(operation(&retrier))).unwrap_err();
    assert_eq!(told.0.lock().unwrap().first(), Some(&(0, false)));
    let stats = budget.stats(clock.now());
    assert!(stats.tokens >= 40 && stats.held <= 1, "{stats:?}");
}

/// A stop of another service's operation, which the body copes with, is not the
/// gateway's.
#[test]
fn failures_beside_a_stop_inside_open_the_breaker() {
    let retrier = holding(resource().breaker(breaker()).unwrap()).build();
    let clock = VirtualClock::new();
    let running = async {
        for _ in 0..2 {
            let attempt = operation(&retrier).run(|_| async {
                let cache = Operation::idempotent("cache", Policy::new(1, SECOND));
                let _ = fails(cache).await;
                Err::<(), _>(BUSY)
            });
            let stopped = attempt.await.unwrap_err();
            assert_eq!(stopped.reason(), StopReason::AttemptsExhausted);
        }
    };
    block_on(&clock, running);
    let state = retrier.breaker("gateway").unwrap().state(clock.now());
    assert!(matches!(state, State::Open { .. }), "{state}");
}

/// An operation inside an attempt on the same resource goes with its probe.
#[test]
fn nested_operations_on_one_resource_probe_together() {
    for on_refusal in [OnRefusal::Stop, OnRefusal::Defer] {
        for healthy in [true, false] {
            let resource = resource().breaker(breaker()).unwrap().on_refusal(on_refusal);
            let retrier = holding(resource).build();
            let clock = VirtualClock::manual();
            let breaker = retrier.breaker("gateway").unwrap();
            breaker.open(clock.now(), Some(SECOND));
            clock.advance(SECOND);
            let policy = Policy::new(1, 60 * SECOND);
            let layer =
                |name| Operation::idempotent(name, policy).with(&retrier).resource("gateway");
            let outer = layer("outer").run(|_| async {
                let inner =
                    layer("inner").run(|_| async { if healthy { Ok(7) } else { Err(BUSY) } });
                inner.await.map_err(|_| BUSY)
            });
            let result = block_on(&clock, outer);
            let state = breaker.state(clock.now());
            match healthy {
                true => assert_eq!((result.ok(), state), (Some(7), State::Closed)),
                false => assert!(matches!(state, State::Open { .. }), "{state}"),
            }
        }
    }
}

#[test]
fn nested_operations_on_one_resource_deposit_once() {
    let budget = Budget::ratio(0.5).floor(0).size(100).build().unwrap();
    let retrier = holding(resource().budget(budget.clone())).build();
    let clock = VirtualClock::new();
    let before = budget.stats(clock.now()).tokens;
    block_on(&clock, async {
        for _ in 0..10 {
            let outer = operation(&retrier).run(|_| async {
                let inner = operation(&retrier).run(|_| async { Ok::<_, Failed>(()) });
                inner.await.map_err(|_| BUSY)
            });
            outer.await.unwrap();
        }
    });
    assert_eq!(budget.stats(clock.now()).tokens, before + 5);
}

/// It is the caller's lack of time, and not the service that is slow.
#[test]
fn an_attempt_that_was_cut_early_says_nothing_about_the_resource() {
    let retrier = holding(resource().breaker(breaker()).unwrap()).build();
    let clock = VirtualClock::new();
    let slow = || {
        operation(&retrier).run(|_| async {
            sleep(&clock, 50 * MS).await;
            Ok::<_, Failed>(7)
        })
    };
    block_on(&clock, async {
        for _ in 0..10 {
            let stopped = retry_core::within(MS, slow()).await.unwrap_err();
            assert_eq!(stopped.reason(), StopReason::DeadlineExceeded);
        }
        assert_eq!(slow().await.unwrap(), 7);
    });
    // One that had its time and hangs is a failure.
    let hangs = || {
        let policy = Policy::new(1, 2 * SECOND).attempt_timeout(SECOND);
        let operation = Operation::idempotent("op", policy).with(&retrier).resource("gateway");
        operation.run(|_| std::future::pending::<Result<(), Failed>>())
    };
    block_on(&clock, async {
        let _ = (hangs().await, hangs().await);
    });
    let state = retrier.breaker("gateway").unwrap().state(clock.now());
    assert!(matches!(state, State::Open { .. }), "{state}");
}

#[test]
fn a_deferral_before_the_first_attempt_counts_as_time() {
    let resource = resource().breaker(breaker()).unwrap().on_refusal(OnRefusal::Defer);
    let retrier = holding(resource).build();
    let clock = VirtualClock::new();
    let breaker = retrier.breaker("gateway").unwrap();
    breaker.open(clock.now(), Some(5 * SECOND));
    let again = async {
        sleep(&clock, 4 * SECOND).await;
        breaker.open(clock.now(), Some(600 * SECOND));
    };
    let both = async { futures::future::join(fails(operation(&retrier)), again).await.0 };
    let stopped = block_on(&clock, both).unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::CircuitOpen, 0));
    assert_eq!(stopped.elapsed(), 5 * SECOND);
}

#[test]
fn a_caller_that_is_named_takes_the_place_of_the_operation() {
    let budget = Budget::ratio(0.0).max_callers(2).build().unwrap();
    let retrier = holding(resource().budget(budget.clone())).build();
    let clock = VirtualClock::new();
    for tenant in ["a", "b"] {
        let _ = block_on(&clock, fails(operation(&retrier).caller(tenant)));
    }
    let stats = budget.stats(clock.now());
    assert_eq!((stats.callers, stats.folded), (2, 0));
}

#[test]
fn a_resource_without_a_retrier_is_refused() {
    let operation = Operation::idempotent("op", policy()).resource("gateway");
    let stopped = block_on(&VirtualClock::new(), fails(operation)).unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::InvalidPolicy, 0));
    let text = stopped.stop().to_string();
    assert_eq!(
        text,
        "there is no retrier that would know the resource `gateway`; give one with `with`"
    );
}

/// What was let through while the breaker was closed shares no probe that began
/// after it.
#[test]
fn an_attempt_that_is_no_probe_lets_nothing_pass_a_full_breaker() {
    let retrier = holding(resource().breaker(breaker()).unwrap()).build();
    let clock = VirtualClock::new();
    let breaker = retrier.breaker("gateway").unwrap();
    let inner = AtomicU32::new(0);
    let policy = Policy::new(1, 60 * SECOND);
    let layer = |name| Operation::idempotent(name, policy).with(&retrier).resource("gateway");
    let outer = layer("outer").run(|_| async {
        breaker.open(clock.now(), Some(SECOND));
        sleep(&clock, SECOND).await;
        let probe = breaker.admit(clock.now()).unwrap();
        let stopped = layer("inner").run(|_| async {
            inner.fetch_add(1, Ordering::Relaxed);
            Ok::<_, Failed>(())
        });
        let reason = stopped.await.map_err(|stopped| stopped.reason());
        drop(probe);
        assert_eq!(reason, Err(StopReason::CircuitOpen));
        Ok::<_, Failed>(())
    });
    block_on(&clock, outer).unwrap();
    assert_eq!(inner.into_inner(), 0);
}

/// Three layers on one resource: the probe is one call, and what it comes to is
/// the breaker's verdict.
#[test]
fn a_probe_of_three_layers_is_one_call() {
    use retry_core::Classify as _;
    for (failure, is_closed) in [(BUSY.0, false), (Failure::permanent(), true)] {
        let retrier = holding(resource().breaker(breaker()).unwrap()).build();
        let clock = VirtualClock::new();
        let breaker = retrier.breaker("gateway").unwrap();
        breaker.open(clock.now(), Some(SECOND));
        clock.advance(SECOND);
        let calls = AtomicU32::new(0);
        let policy = Policy::new(3, 60 * SECOND);
        let layer = |name| Operation::idempotent(name, policy).with(&retrier).resource("gateway");
        let outer = layer("outer").run(|_| async {
            let middle = layer("middle").run(|_| async {
                let inner = layer("inner").run(|_| async {
                    calls.fetch_add(1, Ordering::Relaxed);
                    Err::<(), _>(Failed(failure))
                });
                inner.await.map_err(|stopped| Failed(stopped.classify()))
            });
            middle.await.map_err(|stopped| Failed(stopped.classify()))
        });
        block_on(&clock, async { drop(outer.await) });
        assert_eq!(calls.into_inner(), 1, "{failure}");
        let state = breaker.state(clock.now());
        assert_eq!(state == State::Closed, is_closed, "{failure}: {state}");
        assert!(!matches!(state, State::HalfOpen { .. }), "{failure}: {state}");
    }
}

/// In line for a permit when the tokens go below the threshold: no time is known
/// any more, and none is told.
#[test]
fn a_place_in_line_that_has_no_time_any_more_stops() {
    let budget = Budget::grpc(10, 0.1).capacity(1, 0.0).build().unwrap();
    let resource = resource().budget(budget.clone()).on_refusal(OnRefusal::Defer);
    let retrier = holding(resource).build();
    let clock = VirtualClock::new();
    let others = async {
        sleep(&clock, 10 * MS).await;
        let caller = budget.caller("others");
        (0..8).for_each(|_| caller.failed(&Failure::transient(), clock.now()));
    };
    let both = async { futures::future::join(fails(operation(&retrier)), others).await.0 };
    let stopped = block_on(&clock, both).unwrap_err();
    assert_eq!(stopped.reason(), StopReason::BudgetExhausted);
    assert_eq!(stopped.stop().to_string(), "the local retry budget is empty");
}
