//! The loop against a model of it: whatever the attempts do and however long
//! they take, the events, the times and the result are those that the decision
//! and plain addition give.
#![allow(clippy::panic, clippy::unwrap_used, reason = "in helpers of tests")]

use std::pin::pin;
use std::time::Duration;

use futures::future::{Either, select};
use proptest::prelude::*;
use retry_core::clock::VirtualClock;
use retry_core::observe::{Event, Recorder};
use retry_core::{
    Backoff, Class, Decision, Effect, Failure, Hint, Jitter, Kind, Ledger, Operation, OperationId,
    Policy, PolicyError, Retrier, Safety, Situation, Stopped, decide, within,
};
use retry_core_tests::{Failed, block_on, sleep, turn};

/// What one attempt does.
#[derive(Clone, Copy, Debug)]
struct Step {
    busy: Busy,
    gives: Gives,
}

/// How an attempt spends its time.
#[derive(Clone, Copy, Debug)]
enum Busy {
    /// Ready when it is first polled.
    Not,
    /// Ready at the same instant, but not at once.
    Turns(u8),
    For(Duration),
    Forever,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Gives {
    Value,
    /// A value that the operation rejects.
    Rejected,
    Error(Failure),
}

#[derive(Clone, Debug)]
struct Case {
    policy: Policy,
    safety: Safety,
    /// The time of a workflow around the operation.
    outside: Option<Duration>,
    /// The last one is repeated.
    steps: Vec<Step>,
}

impl Case {
    fn step(&self, attempt: u32) -> Step {
        let last = self.steps.len() - 1;
        self.steps[last.min(attempt as usize - 1)]
    }

    fn operation(&self) -> Operation {
        match self.safety {
            Safety::Idempotent => Operation::idempotent("op", self.policy),
            Safety::Keyed => Operation::keyed("op", "order-1", self.policy),
            Safety::AtMostOnce => Operation::at_most_once("op", self.policy),
        }
    }

    fn id(&self) -> OperationId {
        match self.safety {
            Safety::Keyed => {
                let key = retry_core::IdempotencyKey::derive("op", "order-1").unwrap();
                OperationId::keyed("op", key)
            }
            _ => OperationId::counted("op", 0, 1),
        }
    }

    /// The operation as it is written by a user.
    async fn run(
        &self,
        clock: &VirtualClock,
        recorder: &Recorder,
    ) -> Result<bool, Stopped<Failed>> {
        let retrier = Retrier::builder().observer(recorder.clone()).build();
        let operation = self.operation().with(&retrier).reject(|good: &bool| !good);
        let running = operation.run(|attempt| {
            let step = self.step(attempt.number());
            async move {
                match step.busy {
                    Busy::Not => {}
                    Busy::Turns(turns) => {
                        for _ in 0..turns {
                            turn().await;
                        }
                    }
                    Busy::For(span) => sleep(clock, span).await,
                    Busy::Forever => std::future::pending().await,
                }
                match step.gives {
                    Gives::Value => Ok(true),
                    Gives::Rejected => Ok(false),
                    Gives::Error(failure) => Err(Failed(failure)),
                }
            }
        });
        match self.outside {
            Some(span) => within(span, running).await,
            None => running.await,
        }
    }
}

/// What must come of a case.
#[derive(Debug)]
struct Expected {
    events: Vec<Event>,
    ends: Ends,
}

#[derive(Debug, PartialEq)]
enum Ends {
    Value(bool),
    Stopped,
}

/// `reject` is not public as a failure; an event of it tells what it is.
fn is_rejection(failure: &Failure) -> bool {
    failure.is_rejected()
        && failure.class() == Class::Transient
        && failure.effect() == Effect::Possible
        && failure.kind() == Kind::Other
}

fn deadline(case: &Case) -> Duration {
    let own = case.policy.get_deadline();
    case.outside.map_or(own, |outside| outside.min(own))
}

/// When an attempt that starts at `start` ends, and whether it was cut. A body
/// that is ready in the instant of the cut has its result.
fn attempt_end(case: &Case, start: Duration, busy: Busy) -> (Duration, bool) {
    let cut = case
        .policy
        .get_attempt_timeout()
        .map_or(deadline(case), |timeout| deadline(case).min(start + timeout));
    match busy {
        Busy::Not | Busy::Turns(_) => (start, false),
        Busy::For(span) if start + span <= cut => (start + span, false),
        Busy::For(_) | Busy::Forever => (cut, true),
    }
}

/// Replays the events of an operation: each decision in the record is the one
/// that policy, ledger and failure give.
fn replay(case: &Case, events: &[Event]) -> Result<(), TestCaseError> {
    let mut ledger = Ledger::new();
    let mut situation = Situation::new().safety(case.safety);
    if let Some(outside) = case.outside {
        situation = situation.left_outside(outside);
    }
    for event in events {
        match event {
            Event::AttemptStarted { attempt, elapsed, policy } => {
                prop_assert_eq!(*policy, case.policy);
                ledger.reached(*elapsed);
                let decision = decide(&case.policy, &ledger, &situation, &case.id(), None);
                prop_assert_eq!(decision, Decision::StartAttempt);
                ledger.attempt_started();
                prop_assert_eq!(ledger.attempts(), *attempt);
            }
            Event::AttemptFailed { elapsed, failure, decision, .. } => {
                ledger.attempt_failed(*elapsed, failure);
                let again = decide(&case.policy, &ledger, &situation, &case.id(), Some(failure));
                prop_assert_eq!(&again, decision);
            }
            _ => {}
        }
    }
    Ok(())
}

/// The whole timeline, from the decision and addition.
fn expect(case: &Case, rejection: Failure) -> Expected {
    let Case { policy, .. } = case;
    let id = case.id();
    let mut situation = Situation::new().safety(case.safety);
    if let Some(outside) = case.outside {
        situation = situation.left_outside(outside);
    }
    let mut ledger = Ledger::new();
    let mut events = Vec::new();
    if policy.validate().is_err() {
        return Expected { events, ends: Ends::Stopped };
    }
    loop {
        if let Decision::Stop(stop) = decide(policy, &ledger, &situation, &id, None) {
            let (attempts, elapsed) = (ledger.attempts(), ledger.elapsed());
            events.push(Event::Stopped { attempts, elapsed, stop });
            return Expected { events, ends: Ends::Stopped };
        }
        let start = ledger.elapsed();
        ledger.attempt_started();
        let attempt = ledger.attempts();
        events.push(Event::AttemptStarted { attempt, elapsed: start, policy: *policy });
        let step = case.step(attempt);
        let (elapsed, was_cut) = attempt_end(case, start, step.busy);
        let failure = match step.gives {
            _ if was_cut => Failure::timeout(),
            Gives::Error(failure) => failure,
            Gives::Rejected => rejection,
            Gives::Value => {
                events.push(Event::Succeeded { attempts: attempt, elapsed });
                return Expected { events, ends: Ends::Value(true) };
            }
        };
        ledger.attempt_failed(elapsed, &failure);
        let decision = decide(policy, &ledger, &situation, &id, Some(&failure));
        let (error, decided) = (None, decision.clone());
        events.push(Event::AttemptFailed { attempt, elapsed, failure, error, decision: decided });
        match decision {
            Decision::ScheduleRetry(wait) => ledger.reached(wait.start()),
            Decision::Stop(stop) => {
                events.push(Event::Stopped { attempts: attempt, elapsed, stop });
                let value = !was_cut && step.gives == Gives::Rejected;
                let ends = if value { Ends::Value(false) } else { Ends::Stopped };
                return Expected { events, ends };
            }
            Decision::StartAttempt | Decision::Defer(_) => panic!("not an answer to a failure"),
        }
    }
}

/// The last eight failures; the last with an error in the place of the oldest
/// where none of them has one.
fn remembered(events: &[Event]) -> Vec<(u32, Duration, Failure)> {
    let told = events.iter().filter_map(|event| match event {
        Event::AttemptFailed { attempt, elapsed, failure, .. } => {
            Some((*attempt, *elapsed, *failure))
        }
        _ => None,
    });
    let told: Vec<_> = told.collect();
    // Only an attempt that was cut is a timeout here.
    let has_error = |(_, _, failure): &&(u32, Duration, Failure)| {
        failure.kind() != Kind::Timeout && !failure.is_rejected()
    };
    let last = told.iter().rev().find(has_error);
    let mut kept = told[told.len().saturating_sub(8)..].to_vec();
    if let Some(last) = last
        && !kept.contains(last)
    {
        kept[0] = *last;
    }
    kept
}

fn elapsed(event: &Event) -> Duration {
    match event {
        Event::AttemptStarted { elapsed, .. }
        | Event::AttemptFailed { elapsed, .. }
        | Event::Succeeded { elapsed, .. }
        | Event::Stopped { elapsed, .. }
        | Event::Cancelled { elapsed, .. } => *elapsed,
        other => panic!("{other:?}"),
    }
}

/// The failure of a rejected value, taken from where it becomes visible.
fn rejection() -> Failure {
    let recorder = Recorder::new();
    let case = Case {
        policy: Policy::new(1, Duration::from_secs(1)),
        safety: Safety::Idempotent,
        outside: None,
        steps: vec![Step { busy: Busy::Not, gives: Gives::Rejected }],
    };
    let clock = VirtualClock::new();
    assert!(!block_on(&clock, case.run(&clock, &recorder)).unwrap());
    let events = recorder.events(&case.id());
    match events[1] {
        Event::AttemptFailed { failure, .. } if is_rejection(&failure) => failure,
        ref other => panic!("{other:?}"),
    }
}

fn span() -> impl Strategy<Value = Duration> {
    prop_oneof![
        1 => Just(Duration::ZERO),
        1 => Just(Duration::from_nanos(1)),
        8 => (0..3000_u64).prop_map(Duration::from_millis),
        2 => (0..40_u64).prop_map(Duration::from_secs),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let busy = prop_oneof![
        4 => Just(Busy::Not),
        2 => (1..4_u8).prop_map(Busy::Turns),
        6 => span().prop_map(Busy::For),
        1 => Just(Busy::Forever),
    ];
    let hint = prop_oneof![9 => span().prop_map(Hint::Wait), 1 => Just(Hint::DoNotRetry)];
    let class = prop_oneof![
        20 => Just(Class::Transient),
        1 => Just(Class::Permanent),
        1 => Just(Class::Unknown),
    ];
    let effect = prop_oneof![2 => Just(Effect::None), 1 => Just(Effect::Possible)];
    let failure =
        (class, effect, prop::option::weighted(0.3, hint)).prop_map(|(class, effect, hint)| {
            let failure = Failure::new(class).with_effect(effect);
            hint.map_or(failure, |hint| failure.with_hint(hint))
        });
    let gives = prop_oneof![
        8 => failure.prop_map(Gives::Error),
        1 => Just(Gives::Rejected),
        1 => Just(Gives::Value),
    ];
    (busy, gives).prop_map(|(busy, gives)| Step { busy, gives })
}

fn case() -> impl Strategy<Value = Case> {
    let jitter = prop_oneof![
        Just(Jitter::Equal),
        Just(Jitter::Full),
        Just(Jitter::None),
        span().prop_map(Jitter::Additive),
    ];
    let curve = prop_oneof![
        span().prop_map(Backoff::fixed),
        span().prop_map(Backoff::linear),
        span().prop_map(Backoff::exponential),
        span().prop_map(Backoff::fibonacci),
    ];
    let backoff = (curve, jitter).prop_map(|(curve, jitter)| curve.jitter(jitter));
    let timeout = prop::option::weighted(0.4, (1..5000_u64).prop_map(Duration::from_millis));
    let policy =
        (1..14_u32, span(), timeout, backoff).prop_map(|(most, span, timeout, backoff)| {
            let policy = Policy::new(most, span * 3).backoff(backoff);
            timeout.map_or(policy, |timeout| policy.attempt_timeout(timeout))
        });
    let safety =
        prop_oneof![Just(Safety::Idempotent), Just(Safety::Keyed), Just(Safety::AtMostOnce)];
    let outside = prop::option::weighted(0.3, span());
    let steps = prop::collection::vec(step(), 1..10);
    (policy, safety, outside, steps).prop_map(|(policy, safety, outside, steps)| Case {
        policy,
        safety,
        outside,
        steps,
    })
}

/// A case that is allowed to begin.
fn valid_case() -> impl Strategy<Value = Case> {
    case().prop_map(|case| Case { policy: repaired(case.policy), ..case })
}

fn repaired(policy: Policy) -> Policy {
    match policy.validate() {
        Ok(()) => policy,
        Err(PolicyError::ScheduleTooLong { reach, .. }) => policy.max_attempts(reach),
        Err(PolicyError::ZeroDeadline) => repaired(policy.deadline(Duration::from_secs(6))),
        Err(PolicyError::AttemptTimeoutTooLong { deadline, attempt_timeout }) => {
            repaired(policy.deadline(deadline + attempt_timeout))
        }
        Err(other) => panic!("{other}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn the_loop_does_what_the_model_says(case in prop_oneof![4 => valid_case(), 1 => case()]) {
        let expected = expect(&case, rejection());
        let (clock, recorder) = (VirtualClock::new(), Recorder::new());
        let result = block_on(&clock, case.run(&clock, &recorder));
        let events = recorder.events(&case.id());

        if case.policy.validate().is_err() {
            let stopped = result.unwrap_err();
            prop_assert_eq!(stopped.reason().code(), "invalid_policy");
            prop_assert_eq!((stopped.attempts(), events.len()), (0, 1));
            prop_assert_eq!(clock.elapsed(), Duration::ZERO);
            return Ok(());
        }
        prop_assert_eq!(&events, &expected.events);
        prop_assert_eq!(clock.elapsed(), elapsed(events.last().unwrap()));
        prop_assert!(clock.elapsed() <= deadline(&case));
        prop_assert_eq!(recorder.operations().len(), 1);
        replay(&case, &events)?;

        match result {
            Ok(good) => prop_assert_eq!(expected.ends, Ends::Value(good)),
            Err(stopped) => {
                prop_assert_eq!(expected.ends, Ends::Stopped);
                let Some(Event::Stopped { attempts, elapsed, stop }) = events.last() else {
                    panic!("{events:?}");
                };
                prop_assert_eq!(stopped.stop(), stop);
                prop_assert_eq!((stopped.attempts(), stopped.elapsed()), (*attempts, *elapsed));
                prop_assert_eq!(stopped.operation_id(), &case.id());
                let kept = stopped.failures().iter();
                let kept: Vec<_> =
                    kept.map(|failed| (failed.attempt(), failed.elapsed(), *failed.failure())).collect();
                prop_assert_eq!(kept, remembered(&events));
                let error = stopped.failures().iter().rev().find_map(|failed| failed.error());
                prop_assert_eq!(stopped.error(), error);
            }
        }
    }

    /// Dropped at any instant, it tells so once, and nothing happens after.
    #[test]
    fn dropped_at_any_instant_it_tells_so(case in valid_case(), at in span()) {
        let at = at + Duration::from_nanos(1);
        let expected = expect(&case, rejection()).events;
        // Which of two things in one instant is first is the executor's choice.
        prop_assume!(expected.iter().all(|event| elapsed(event) != at));

        let (clock, recorder) = (VirtualClock::new(), Recorder::new());
        let cut = block_on(&clock, async {
            let running = pin!(case.run(&clock, &recorder));
            match select(running, sleep(&clock, at)).await {
                Either::Left(_) => false,
                Either::Right(_) => true,
            }
        });
        let mut events = recorder.events(&case.id());
        prop_assert_eq!(cut, elapsed(expected.last().unwrap()) > at);
        if cut {
            let before = expected.iter().take_while(|event| elapsed(event) < at).count();
            let last = events.pop().unwrap();
            prop_assert_eq!(&events[..], &expected[..before]);
            let (attempts, in_attempt, failed) = match &events[before - 1] {
                Event::AttemptStarted { attempt, .. } => {
                    let failed = events.iter().rev().find_map(|event| match event {
                        Event::AttemptFailed { failure, .. } => Some(*failure),
                        _ => None,
                    });
                    (*attempt, true, failed)
                }
                Event::AttemptFailed { attempt, failure, .. } => (*attempt, false, Some(*failure)),
                other => panic!("{other:?}"),
            };
            let cancelled = Event::Cancelled { attempts, elapsed: at, in_attempt, failure: failed };
            prop_assert_eq!(last, cancelled);
        } else {
            prop_assert_eq!(events, expected);
        }
    }
}
