//! Clocks, and what the poll-time scope carries: virtual time is the same in
//! every run, and a frame holds exactly while its future is polled.
#![allow(clippy::unwrap_used, clippy::panic, reason = "in helpers of tests")]

use std::cell::RefCell;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant, SystemTime};

use futures::FutureExt as _;
use futures::future::{join_all, select};
use retry_core::clock::{self, Clock, Sleep, VirtualClock};
use retry_core::observe::{Event, Recorder};
use retry_core::{
    Backoff, Class, Classify, Failure, Hint, Jitter, Operation, OperationId, Policy, Retrier,
    StopReason, Stopped, within,
};
use retry_core_tests::{BUSY, Failed, block_on, sleep, turn};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

fn every(wait: Duration) -> Backoff {
    Backoff::fixed(wait).jitter(Jitter::None)
}

/// An operation that fails until something bounds it.
async fn fails(name: &'static str, policy: Policy) -> Stopped<Failed> {
    Operation::idempotent(name, policy).run(|_| async { Err::<(), _>(BUSY) }).await.unwrap_err()
}

fn long() -> Policy {
    Policy::new(10_000, 60 * MINUTE).backoff(every(300 * MS))
}

/// Whether the code that runs is under a virtual clock: its calendar begins
/// with 1970, and no system's does.
fn is_virtual() -> bool {
    clock::utc() < SystemTime::UNIX_EPOCH + 365 * 24 * 60 * MINUTE
}

mod virtual_time {
    use super::*;

    /// A busy hour: nested, hinted, keyed and counted operations at once.
    fn hour() -> Vec<(OperationId, Event)> {
        let (clock, recorder) = (VirtualClock::new(), Recorder::new());
        let retrier = Retrier::builder().observer(recorder.clone()).build();
        let call = |n: u32| {
            let (clock, retrier) = (clock.clone(), retrier.clone());
            async move {
                let policy = Policy::new(3 + n % 4, 10 * MINUTE).attempt_timeout(20 * SECOND);
                let operation = match n % 3 {
                    0 => Operation::keyed("keyed", n, policy),
                    1 => Operation::idempotent("counted", policy),
                    _ => Operation::at_most_once("once", policy),
                };
                let (clock, retrier) = (&clock, &retrier);
                let outer = operation.with(retrier).run(|attempt| async move {
                    sleep(clock, MS * (n * 37 % 900)).await;
                    let inner = Operation::idempotent("inner", Policy::new(2, 5 * SECOND));
                    let inner = inner.with(retrier).run(|_| async move {
                        sleep(clock, MS * (n * 91 % 500)).await;
                        Err::<(), _>(BUSY)
                    });
                    let _ = inner.await;
                    let failure = Failure::transient().no_effect().afresh();
                    let hint = Hint::Wait(SECOND * (n % 5));
                    match attempt.number() == 1 + n % 7 {
                        true => Ok(n),
                        false => Err(Failed(failure.with_hint(hint))),
                    }
                });
                let _ = outer.await;
            }
        };
        block_on(&clock, join_all((0..60).map(call)));
        recorder.take()
    }

    #[test]
    fn every_run_gives_the_same_ids_delays_and_events() {
        let first = hour();
        assert!(first.len() > 500, "{}", first.len());
        assert_eq!(first, hour());
        // From another thread, too: nothing is kept per thread or per process.
        assert_eq!(first, std::thread::spawn(hour).join().unwrap());
    }

    #[test]
    fn a_scope_counts_operations_of_its_own() {
        for _ in 0..2 {
            let clock = VirtualClock::new();
            for sequence in 1..4 {
                let stopped = block_on(&clock, fails("op", Policy::new(1, SECOND)));
                assert_eq!(stopped.operation_id(), &OperationId::counted("op", 0, sequence));
            }
        }
    }

    #[test]
    fn the_clock_stands_still_while_anything_can_run() {
        let clock = VirtualClock::new();
        block_on(&clock, async {
            let timer = sleep(&clock, SECOND);
            let busy = async {
                for _ in 0..1000 {
                    turn().await;
                    assert_eq!(clock.elapsed(), Duration::ZERO);
                }
            };
            futures::future::join(timer, busy).await;
        });
        assert_eq!(clock.elapsed(), SECOND);
    }

    #[test]
    fn timers_of_one_instant_are_woken_in_the_order_they_were_made() {
        let clock = VirtualClock::new();
        let order = RefCell::new(Vec::new());
        let timers = (0..100).map(|n| {
            let timer = sleep(&clock, SECOND);
            let order = &order;
            async move {
                timer.await;
                order.borrow_mut().push(n);
            }
        });
        block_on(&clock, join_all(timers));
        assert_eq!(order.into_inner(), (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn a_manual_clock_moves_by_hand_only() {
        let clock = VirtualClock::manual();
        let mut running = pin!(clock.clone().scope(fails("op", Policy::new(2, MINUTE))));
        let mut context = Context::from_waker(Waker::noop());
        for _ in 0..5 {
            assert!(running.as_mut().poll(&mut context).is_pending());
        }
        assert_eq!(clock.elapsed(), Duration::ZERO);
        clock.advance(SECOND);
        let Poll::Ready(stopped) = running.as_mut().poll(&mut context) else {
            panic!("the wait is over");
        };
        assert_eq!((stopped.attempts(), stopped.elapsed()), (2, SECOND));
    }

    /// However far it is moved: beyond what the platform counts it stands.
    #[test]
    fn time_never_runs_back() {
        let clock = VirtualClock::manual();
        let mut before = clock.now();
        for span in [SECOND, Duration::MAX, SECOND, Duration::MAX, Duration::ZERO] {
            let elapsed = clock.elapsed();
            clock.advance(span);
            assert!(clock.now() >= before, "{span:?}");
            // Both speak of one time.
            assert_eq!(clock.now() - before, clock.elapsed() - elapsed);
            before = clock.now();
        }
        assert_eq!(clock.elapsed(), 2 * SECOND);
    }

    #[test]
    fn threads_that_move_one_clock_lose_no_step() {
        let clock = VirtualClock::manual();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..5000).for_each(|_| clock.advance(MS)));
            }
        });
        assert_eq!(clock.elapsed(), 20_000 * MS);
    }

    /// A waker may be the last that holds a task, whose timers end with it.
    #[test]
    fn a_waker_that_uses_the_clock_when_it_is_dropped_blocks_nothing() {
        struct Holds(VirtualClock, Mutex<Option<Sleep>>);
        impl Wake for Holds {
            fn wake(self: Arc<Self>) {}
        }
        impl Drop for Holds {
            fn drop(&mut self) {
                self.0.elapsed();
                drop(self.1.lock().unwrap().take());
            }
        }
        let (done, finished) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let clock = VirtualClock::manual();
            let waker = || {
                let mut own = sleep(&clock, MINUTE);
                let _ = own.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                Waker::from(Arc::new(Holds(clock.clone(), Mutex::new(Some(own)))))
            };
            let mut timer = sleep(&clock, SECOND);
            // Polled by one task, then by another: the first waker goes.
            assert!(timer.as_mut().poll(&mut Context::from_waker(&waker())).is_pending());
            assert!(timer.as_mut().poll(&mut Context::from_waker(&waker())).is_pending());
            // Dropped, and the second goes.
            drop(timer);
            // Woken, and the third goes.
            let mut timer = sleep(&clock, SECOND);
            assert!(timer.as_mut().poll(&mut Context::from_waker(&waker())).is_pending());
            clock.advance(SECOND);
            done.send(()).unwrap();
        });
        // Returns at once, or, where the thread blocks, when the test is over.
        let finished = finished.recv_timeout(MINUTE);
        assert!(finished.is_ok(), "a waker was dropped under the clock's lock");
    }
}

mod scopes {
    use super::*;

    #[test]
    fn a_clock_holds_while_its_future_is_polled_and_no_longer() {
        assert!(!is_virtual());
        block_on(&VirtualClock::new(), async {
            assert!(is_virtual());
            turn().await;
            assert!(is_virtual());
        });
        assert!(!is_virtual());
    }

    #[test]
    fn a_scope_in_a_workflow_in_a_scope() {
        let (outer, inner) = (VirtualClock::new(), VirtualClock::of_process(7));
        let flow = within(10 * SECOND, async {
            sleep(&outer, 4 * SECOND).await;
            // Six seconds are left, on whatever clock they are spent.
            let on_inner = inner.clone().scope(async {
                let stopped = fails("inner", long()).await;
                let further = within(60 * MINUTE, fails("further", long())).await;
                let shorter = within(SECOND, fails("shorter", long())).await;
                [stopped, further, shorter]
            });
            let stops = on_inner.await;
            // The other clock has not moved.
            (stops, fails("outer", long()).await)
        });
        let ([first, further, shorter], last) = block_on(&outer, flow);
        for (stopped, left) in [(&first, 6), (&further, 6), (&shorter, 1), (&last, 6)] {
            assert_eq!(stopped.reason(), StopReason::DeadlineExceeded);
            let text = stopped.stop().to_string();
            assert!(text.ends_with(&format!("left it {left}s")), "{text}");
        }
        assert_eq!(first.operation_id(), &OperationId::counted("inner", 7, 1));
        assert_eq!(last.operation_id(), &OperationId::counted("outer", 0, 1));
        assert_eq!(outer.elapsed(), 4 * SECOND + last.elapsed());
        assert_eq!(inner.elapsed(), first.elapsed() + further.elapsed() + shorter.elapsed());
    }

    /// A workflow is not an operation: nothing is nested by it.
    #[test]
    fn a_workflow_does_not_count_as_a_layer() {
        let policy = Policy::new(30, MINUTE).backoff(every(MS));
        let flow = within(MINUTE, within(MINUTE, fails("op", policy)));
        let stopped = block_on(&VirtualClock::new(), flow);
        assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::AttemptsExhausted, 30));
    }

    #[test]
    fn workflows_only_shorten() {
        for (spans, bound) in [([5, 20], 5), ([20, 5], 5), ([0, 20], 0), ([20, 0], 0)] {
            let clock = VirtualClock::new();
            let [one, other] = spans.map(|span| span * SECOND);
            let stopped = block_on(&clock, within(one, within(other, fails("op", long()))));
            assert_eq!(stopped.reason(), StopReason::DeadlineExceeded);
            assert!(stopped.elapsed() <= bound * SECOND);
            assert!(stopped.elapsed() + SECOND > bound * SECOND);
        }
    }

    /// Operations of a workflow share what is left; one after the other, and
    /// at the same time.
    #[test]
    fn a_workflow_is_one_budget_of_time() {
        let clock = VirtualClock::new();
        let flow = within(3 * SECOND, async {
            let policy = Policy::new(3, MINUTE).backoff(every(900 * MS));
            let first = fails("first", policy).await;
            let both = futures::future::join(fails("second", long()), fails("third", long()));
            (first, both.await)
        });
        let (first, (second, third)) = block_on(&clock, flow);
        assert_eq!((first.reason(), first.attempts()), (StopReason::AttemptsExhausted, 3));
        for stopped in [second, third] {
            assert_eq!(stopped.reason(), StopReason::DeadlineExceeded);
            assert_eq!((stopped.attempts(), stopped.elapsed()), (4, 900 * MS));
        }
    }

    #[test]
    fn a_retriers_own_clock_beats_the_scope() {
        let (scoped, own) = (VirtualClock::new(), VirtualClock::of_process(1));
        let retrier = Retrier::builder().clock(own.clone()).build();
        let operation = Operation::idempotent("op", Policy::new(3, MINUTE)).with(&retrier);
        let running = operation.run(|_| async { Err::<(), _>(BUSY) });
        // Its own clock moves in a scope of its own.
        let stopped = block_on(&scoped, own.clone().scope(running)).unwrap_err();
        assert_eq!(stopped.operation_id(), &OperationId::counted("op", 1, 1));
        assert_eq!((stopped.elapsed(), scoped.elapsed()), (own.elapsed(), Duration::ZERO));
    }

    #[test]
    fn a_panic_in_a_body_leaves_the_frame_around_it() {
        let clock = VirtualClock::new();
        let running = Operation::idempotent("outer", Policy::new(1, 5 * SECOND)).run(|_| async {
            let panics = Operation::idempotent("inner", Policy::new(3, SECOND)).run(|_| async {
                turn().await;
                let scoped = VirtualClock::new();
                let workflow = within(MS, async { panic!("in four frames") });
                let (): () = scoped.scope(workflow).await;
                Ok::<_, Failed>(())
            });
            let caught = AssertUnwindSafe(panics).catch_unwind().await;
            assert!(caught.is_err() && is_virtual());
            // The deadline is the outer one's, and so is the depth: the second
            // of two, in the first attempt of the first.
            let policy = Policy::new(100, 60 * MINUTE).backoff(every(2 * SECOND));
            Err::<(), _>(fails("after", policy).await)
        });
        let stopped = block_on(&clock, running).unwrap_err();
        let after = stopped.into_error().unwrap();
        assert_eq!(after.reason(), StopReason::DeadlineExceeded);
        assert_eq!((after.attempts(), after.elapsed()), (3, 4 * SECOND));
        assert!(!is_virtual());
    }

    #[test]
    fn a_call_that_ran_once_is_remembered_through_a_panic() {
        let running = Operation::idempotent("outer", Policy::new(5, MINUTE)).run(|_| async {
            let once = Operation::at_most_once("once", Policy::new(1, SECOND))
                .run(|_| async { panic!("after it was sent") });
            let caught = AssertUnwindSafe(once).catch_unwind().await;
            let _: Result<Result<(), Stopped<Failed>>, _> = caught;
            Err::<(), _>(BUSY)
        });
        let stopped = block_on(&VirtualClock::new(), running).unwrap_err();
        assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::NotIdempotent, 1));
    }

    /// A call that must not run twice, in an operation that may.
    async fn calls_once(then: impl AsyncFn()) -> Result<(), Stopped<Failed>> {
        let layer = Operation::idempotent("layer", Policy::new(3, MINUTE));
        let layer = layer.run(|_| async {
            let once = Operation::at_most_once("once", Policy::new(1, SECOND));
            once.run(|_| async { Ok::<_, Failed>(()) }).await.unwrap();
            then().await;
            Ok::<_, Failed>(())
        });
        layer.await
    }

    /// However the operation between them ends, the outer one learns of the call.
    #[test]
    fn a_call_that_ran_once_is_remembered_through_every_end() {
        let clock = VirtualClock::new();
        let outer = || Operation::idempotent("outer", Policy::new(5, MINUTE));
        let returns = outer().run(|_| async {
            calls_once(async || {}).await.unwrap();
            Err::<(), _>(BUSY)
        });
        let panics = outer().run(|_| async {
            let caught = AssertUnwindSafe(calls_once(async || panic!("after it was sent")));
            assert!(caught.catch_unwind().await.is_err());
            Err::<(), _>(BUSY)
        });
        let dropped = outer().run(|_| async {
            let hangs = pin!(calls_once(async || std::future::pending().await));
            select(hangs, sleep(&clock, SECOND)).await;
            Err::<(), _>(BUSY)
        });
        let in_scopes = outer().run(|_| async {
            let inside = within(MINUTE, clock.clone().scope(calls_once(async || {})));
            inside.await.unwrap();
            Err::<(), _>(BUSY)
        });
        let stops = [
            block_on(&clock, returns),
            block_on(&clock, panics),
            block_on(&clock, dropped),
            block_on(&clock, in_scopes),
        ];
        for stopped in stops.map(Result::unwrap_err) {
            assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::NotIdempotent, 1));
        }
    }

    #[retry_core::non_idempotent]
    async fn sent_then(panics: bool) {
        if panics {
            panic!("after it was sent");
        }
    }

    /// A marked call counts from its first poll, also where that one panics.
    #[test]
    fn a_marked_call_that_panics_has_run() {
        for panics in [false, true] {
            let running = Operation::idempotent("outer", Policy::new(5, MINUTE)).run(|_| async {
                let call = AssertUnwindSafe(sent_then(panics).into_future()).catch_unwind();
                assert_eq!(call.await.is_err(), panics);
                Err::<(), _>(BUSY)
            });
            let stopped = block_on(&VirtualClock::new(), running).unwrap_err();
            assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::NotIdempotent, 1));
        }
    }

    /// Calls are counted by attempt: one in each is one, two in one are two.
    #[test]
    fn every_attempt_counts_its_own_calls() {
        for (calls, reason, attempts) in
            [(1, StopReason::AttemptsExhausted, 3), (2, StopReason::ManualReview, 1)]
        {
            let policy = Policy::new(3, MINUTE);
            let outer = Operation::at_most_once("outer", policy).run(|_| async move {
                for _ in 0..calls {
                    let refused = Operation::at_most_once("call", policy.max_attempts(1))
                        .run(|_| async { Err::<(), _>(Failed(BUSY.0.no_effect())) });
                    let _ = refused.await;
                }
                Err::<(), _>(Failed(BUSY.0.no_effect().afresh()))
            });
            let stopped = block_on(&VirtualClock::new(), outer).unwrap_err();
            assert_eq!((stopped.reason(), stopped.attempts()), (reason, attempts));
        }
    }

    /// On one thread, one after the other: each finds nothing of the one before.
    #[tokio::test(start_paused = true)]
    async fn operations_and_scopes_follow_each_other() {
        let twelve = Policy::new(12, MINUTE).backoff(every(SECOND));
        for _ in 0..3 {
            let on_tokio = fails("op", twelve.max_attempts(2).deadline(2 * SECOND)).await;
            assert_eq!(on_tokio.attempts(), 2);
            assert!(!is_virtual());
            let on_virtual = VirtualClock::new().scope(fails("op", twelve)).await;
            assert_eq!(on_virtual.reason(), StopReason::AttemptsExhausted, "{on_virtual}");
            assert!(!is_virtual());
            // Were anything left of the first, its time would be used up now.
            let on_tokio = fails("op", twelve).await;
            assert_eq!(on_tokio.reason(), StopReason::AttemptsExhausted, "{on_tokio}");
            assert_eq!(on_tokio.attempts(), 12);
        }
    }

    #[test]
    fn a_panic_that_leaves_everything_leaves_no_frame() {
        let clock = VirtualClock::new();
        let panics = within(
            SECOND,
            Operation::idempotent("op", Policy::new(3, MINUTE)).run(|_| async {
                turn().await;
                if is_virtual() {
                    panic!("out of everything");
                }
                Ok::<_, Failed>(())
            }),
        );
        let caught = std::panic::catch_unwind(AssertUnwindSafe(|| block_on(&clock, panics)));
        assert!(caught.is_err() && !is_virtual());
        let stopped = block_on(&VirtualClock::new(), fails("op", long().max_attempts(12)));
        assert_eq!(stopped.reason(), StopReason::AttemptsExhausted);
    }

    /// Dropped in an attempt, in a wait, in a nested wait: no timer is left
    /// that a later scope would wait for, and no frame.
    #[test]
    fn a_future_dropped_midway_leaves_nothing() {
        for at in [0, 1, 500, 1500, 1999, 2500, 3500].map(|ms| ms * MS + Duration::from_nanos(1)) {
            let clock = VirtualClock::new();
            block_on(&clock, async {
                let policy = Policy::new(9, MINUTE).backoff(every(SECOND));
                let nested = Operation::idempotent("outer", policy).run(|_| async {
                    sleep(&clock, SECOND).await;
                    Err::<(), _>(fails("inner", policy).await)
                });
                select(pin!(nested), sleep(&clock, at)).await;
                assert!(is_virtual());
            });
            assert!(!is_virtual());
            assert_eq!(clock.elapsed(), at);
            let mut idle = pin!(clock.clone().scope(std::future::pending::<()>()));
            let polled = idle.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            assert!(polled.is_pending());
            assert_eq!(clock.elapsed(), at, "a timer is left");
        }
    }

    /// Polled by one thread after another, each of which polls something else
    /// in between.
    #[test]
    fn an_operation_may_move_between_threads_between_polls() {
        let story = |hop: fn(Running) -> Running| {
            let (clock, recorder) = (VirtualClock::manual(), Recorder::new());
            let retrier = Retrier::builder().observer(recorder.clone()).build();
            let body_clock = clock.clone();
            let policy = Policy::new(3, 10 * SECOND).backoff(every(SECOND));
            let outer = Operation::keyed("outer", 1, policy).with(&retrier);
            let inner = Operation::idempotent("inner", long()).with(&retrier);
            let running = outer.run(move |_| {
                let (busy, inner) = (sleep(&body_clock, 2 * SECOND), inner.clone());
                async move {
                    busy.await;
                    let stopped =
                        within(2 * SECOND, inner.run(|_| async { Err::<(), _>(BUSY) })).await;
                    Err::<(), _>(stopped.unwrap_err())
                }
            });
            let running = async move {
                let stopped = running.await.unwrap_err();
                assert_eq!(stopped.reason(), StopReason::DeadlineExceeded);
            };
            let mut running: Running = (Box::pin(clock.clone().scope(running)), false);
            while !running.1 {
                running = hop(running);
                clock.advance(50 * MS);
            }
            recorder.take()
        };
        let stays = story(poll_once);
        let moves = story(|running| {
            std::thread::spawn(move || {
                let other = VirtualClock::of_process(9);
                block_on(&other, fails("other", Policy::new(3, MINUTE)));
                let running = poll_once(running);
                assert!(!is_virtual());
                running
            })
            .join()
            .unwrap()
        });
        assert!(stays.len() > 10);
        assert_eq!(stays, moves);
    }

    /// The future, and whether it is done.
    type Running = (Pin<Box<dyn Future<Output = ()> + Send>>, bool);

    fn poll_once((mut future, _): Running) -> Running {
        let done = future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready();
        (future, done)
    }

    /// A task of its own is polled elsewhere and does not see the scope.
    #[tokio::test(start_paused = true)]
    async fn a_spawned_task_sees_no_scope() {
        let flow = within(SECOND, async {
            let spawned = tokio::spawn(fails("op", Policy::new(3, MINUTE).backoff(every(SECOND))));
            (fails("here", long()).await, spawned.await.unwrap())
        });
        let (here, spawned) = flow.await;
        assert_eq!(here.reason(), StopReason::DeadlineExceeded);
        assert_eq!(spawned.reason(), StopReason::AttemptsExhausted);
    }

    /// What an inner operation has left is what is left when it begins, not
    /// when its future was made.
    #[test]
    fn what_is_left_is_measured_at_the_first_poll() {
        let clock = VirtualClock::new();
        let flow = within(10 * SECOND, async {
            let made = fails("op", long());
            sleep(&clock, 7 * SECOND).await;
            made.await
        });
        let stopped = block_on(&clock, flow);
        assert!(stopped.stop().to_string().ends_with("left it 3s"), "{stopped}");
    }
}

mod clocks_of_others {
    use super::*;

    /// Time that stands still, and waits that end all the same.
    struct Frozen(Instant);

    impl Clock for Frozen {
        fn now(&self) -> Instant {
            self.0
        }

        fn sleep_until(&self, _: Instant) -> Sleep {
            Box::pin(async { turn().await })
        }
    }

    /// A wait for the same instant as the one before is a wait of its own: a
    /// future that is done is not polled again.
    #[test]
    fn a_clock_that_stands_still_panics_nowhere() {
        for busy in [false, true] {
            let retrier = Retrier::builder().clock(Frozen(Instant::now())).build();
            let policy = Policy::new(5, MINUTE).attempt_timeout(SECOND).backoff(every(SECOND));
            let running = Operation::idempotent("op", policy).with(&retrier).run(|_| async move {
                if busy {
                    turn().await;
                }
                Err::<(), _>(BUSY)
            });
            let stopped = futures::executor::block_on(running).unwrap_err();
            assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::AttemptsExhausted, 5));
        }
    }

    /// Classification is asked once an attempt, also by a clock that is slow.
    #[test]
    fn an_error_is_classified_once() {
        struct Asked(Arc<std::sync::atomic::AtomicU32>);
        impl Classify for Asked {
            fn classify(&self) -> Failure {
                self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                Failure::new(Class::Transient)
            }
        }
        let asked = Arc::default();
        let running = Operation::idempotent("op", Policy::new(4, MINUTE))
            .run(|_| std::future::ready(Err::<(), _>(Asked(Arc::clone(&asked)))));
        let stopped = block_on(&VirtualClock::new(), running).unwrap_err();
        assert_eq!(stopped.attempts(), asked.load(std::sync::atomic::Ordering::SeqCst));
    }
}

/// Whatever ran before on a thread, a program gives what it gives on a new one.
mod threads_forget {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Program {
        /// An operation whose attempts take this long, and fail.
        Leaf {
            once: bool,
            busy: u32,
        },
        /// One whose attempts run the program, and fail.
        Around(Box<Program>),
        /// The program on a virtual clock.
        Scope(Box<Program>),
        Within(u32, Box<Program>),
        /// One after the other.
        Both(Box<Program>, Box<Program>),
        /// The program, then a panic that is caught outside.
        Panic(Box<Program>),
        /// The program, dropped after so many polls.
        Dropped(u8, Box<Program>),
    }

    fn program() -> impl Strategy<Value = Program> {
        let leaf =
            (any::<bool>(), 0..3000_u32).prop_map(|(once, busy)| Program::Leaf { once, busy });
        leaf.prop_recursive(5, 12, 2, |inner| {
            let boxed = inner.prop_map(Box::new);
            prop_oneof![
                boxed.clone().prop_map(Program::Around),
                boxed.clone().prop_map(Program::Scope),
                (0..9000_u32, boxed.clone()).prop_map(|(ms, it)| Program::Within(ms, it)),
                (boxed.clone(), boxed.clone()).prop_map(|(a, b)| Program::Both(a, b)),
                boxed.clone().prop_map(Program::Panic),
                (0..9_u8, boxed).prop_map(|(polls, it)| Program::Dropped(polls, it)),
            ]
        })
    }

    /// What the program's operations say, without their ids, which are counted.
    fn run(program: &Program) -> Pin<Box<dyn Future<Output = String> + '_>> {
        Box::pin(async move {
            match program {
                Program::Leaf { once, busy } => {
                    let policy = Policy::new(3, 5 * SECOND).backoff(every(400 * MS));
                    let operation = match once {
                        true => Operation::at_most_once("leaf", policy),
                        false => Operation::idempotent("leaf", policy),
                    };
                    let stopped = operation.run(|_| async {
                        spend(MS * *busy).await;
                        Err::<(), _>(Failed(BUSY.0.no_effect()))
                    });
                    let stopped = stopped.await.unwrap_err();
                    format!("[{} {} {}]", is_virtual(), stopped.attempts(), stopped.stop())
                }
                Program::Around(inner) => {
                    let policy = Policy::new(4, 8 * SECOND).backoff(every(SECOND));
                    let said = RefCell::new(String::new());
                    let stopped = Operation::idempotent("around", policy).run(|_| async {
                        let inner = run(inner).await;
                        said.borrow_mut().push_str(&inner);
                        Err::<(), _>(BUSY)
                    });
                    let stopped = stopped.await.unwrap_err();
                    let said = said.take();
                    format!("({said} {} {})", stopped.attempts(), stopped.stop())
                }
                Program::Scope(inner) => VirtualClock::new().scope(run(inner)).await,
                Program::Within(ms, inner) => within(MS * *ms, run(inner)).await,
                Program::Both(a, b) => run(a).await + &run(b).await,
                Program::Panic(inner) => {
                    let panics = AssertUnwindSafe(async {
                        let said = run(inner).await;
                        // Without a message: thousands would be printed.
                        std::panic::resume_unwind(Box::new(said));
                        #[expect(unreachable_code, reason = "gives the block a type")]
                        ()
                    });
                    match panics.catch_unwind().await {
                        Ok(()) => unreachable!("it panics"),
                        Err(said) => *said.downcast::<String>().unwrap() + "!",
                    }
                }
                Program::Dropped(polls, inner) => {
                    let mut future = run(inner);
                    let mut left = *polls;
                    std::future::poll_fn(|cx| {
                        if left == 0 {
                            return Poll::Ready(String::from("…"));
                        }
                        left -= 1;
                        future.as_mut().poll(cx)
                    })
                    .await
                }
            }
        })
    }

    /// Waits on the scoped clock, whichever it is, as an operation that succeeds.
    async fn spend(span: Duration) {
        let waits = Policy::new(2, MINUTE).backoff(every(span));
        let spent = Operation::idempotent("spend", waits)
            .run(|attempt| async move { if attempt.number() == 2 { Ok(()) } else { Err(BUSY) } });
        let _ = spent.await;
    }

    fn on_tokio(program: &Program) -> String {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_time().start_paused(true).build().unwrap();
        runtime.block_on(run(program))
    }

    proptest! {
        #[test]
        fn what_ran_before(programs in prop::collection::vec(program(), 1..6)) {
            for program in &programs {
                let here = on_tokio(program);
                let fresh = std::thread::scope(|scope| {
                    scope.spawn(|| on_tokio(program)).join().unwrap()
                });
                prop_assert_eq!(here, fresh, "{:?}", program);
            }
        }
    }
}
