//! A replay names the first decision that is not the pure function's.

use super::*;
use crate::StopReason;
use crate::decide::{OnRefusal, Refusal};

/// The record chains and folds, and its replay stops at that entry.
#[track_caller]
fn differs(kept: &Kept, at: usize, forge: impl FnOnce(&mut Event)) {
    let record = kept.forged(|events| forge(&mut events[at]));
    match record.replay() {
        Err(difference) => {
            let entry = usize::try_from(difference.entry).unwrap();
            assert_eq!(entry, at + 1, "{difference}");
            assert_ne!(difference.recorded, difference.decided);
        }
        Ok(_) => panic!("what was forged at entry {} replays", at + 1),
    }
}

fn retried() -> Kept {
    let mut kept = Kept::begin(&new());
    kept.fails(Failure::transient().after(20 * SECOND));
    kept
}

#[test]
fn every_number_of_a_delay_is_decided() {
    let kept = retried();
    assert!(kept.forged(|_| ()).replay().is_ok(), "what is not forged replays");
    let ns = Duration::from_nanos(1);
    let forges: [fn(&mut DelayChosen); 8] = [
        |chosen| chosen.attempt = 2,
        |chosen| chosen.ceiling += Duration::from_nanos(1),
        |chosen| chosen.unit ^= 1,
        |chosen| chosen.computed -= Duration::from_nanos(1),
        |chosen| chosen.hint = None,
        |chosen| chosen.hint = Some(SECOND),
        |chosen| chosen.delay += Duration::from_nanos(1),
        |chosen| chosen.start -= Duration::from_nanos(1),
    ];
    for forge in forges {
        differs(&kept, 3, |event| match event {
            Event::DelayChosen(chosen) => forge(chosen),
            other => panic!("{other:?}"),
        });
    }
    // What a decision was made on counts as much.
    for forge in [
        |failure: &mut Failure| *failure = failure.after(21 * SECOND),
        |failure: &mut Failure| *failure = Failure::permanent(),
        |failure: &mut Failure| *failure = Failure::transient(),
    ] {
        let record = kept.forged(|events| match &mut events[2] {
            Event::AttemptFinished { failure: Some(failure), .. } => forge(failure),
            other => panic!("{other:?}"),
        });
        assert_eq!(record.replay().unwrap_err().entry, 4);
    }
    let record = kept.forged(|events| match &mut events[2] {
        Event::AttemptFinished { elapsed, .. } => *elapsed += ns,
        other => panic!("{other:?}"),
    });
    assert_eq!(record.replay().unwrap_err().entry, 4);
}

#[test]
fn what_an_operation_began_with_is_part_of_every_decision() {
    let kept = retried();
    let forges: [fn(&mut Event); 4] = [
        |event| {
            if let Event::Enqueued { policy, .. } = event {
                *policy = policy.max_attempts(1);
            }
        },
        |event| {
            if let Event::Enqueued { policy, .. } = event {
                *policy = policy.backoff(Backoff::fixed(11 * SECOND).jitter(Jitter::None));
            }
        },
        |event| {
            if let Event::Enqueued { operation, .. } = event {
                *operation = "payments.charge/another".to_owned();
            }
        },
        |event| {
            if let Event::Enqueued { safety, .. } = event {
                *safety = Safety::AtMostOnce;
            }
        },
    ];
    for forge in forges {
        let record = kept.forged(|events| forge(&mut events[0]));
        assert_eq!(record.replay().unwrap_err().entry, 4);
    }
}

#[test]
fn every_stop_is_decided() {
    let mut review = Kept::begin(&New { safety: Safety::AtMostOnce, ..new() });
    review.fails(Failure::transient());
    differs(&review, 3, |event| {
        let (reason, text) = (StopReason::NotIdempotent, String::new());
        *event = Event::ReviewOpened { elapsed: SECOND, reason, text };
    });
    differs(&review, 3, |event| {
        let (reason, text) = (StopReason::ManualReview, String::new());
        *event = Event::ReviewOpened { elapsed: 2 * SECOND, reason, text };
    });
    let mut dead = Kept::begin(&New { policy: new().policy.max_attempts(1), ..new() });
    dead.fails(Failure::transient());
    for forged in [StopReason::DeadlineExceeded, StopReason::FailPermanent] {
        differs(&dead, 3, |event| match event {
            Event::Dead { reason, .. } => *reason = forged,
            other => panic!("{other:?}"),
        });
    }
    differs(&dead, 3, |event| match event {
        Event::Dead { elapsed, .. } => *elapsed += SECOND,
        other => panic!("{other:?}"),
    });
    let mut parked = Kept::begin(&new());
    let events = parked.failed(SECOND, Failure::transient(), Situation::new().disabled(true));
    parked.append(events);
    for forged in [None, Some(10 * SECOND), Some(Duration::ZERO)] {
        differs(&parked, 3, |event| match event {
            Event::Parked { start, .. } => *start = forged,
            other => panic!("{other:?}"),
        });
    }
    differs(&parked, 3, |event| match event {
        Event::Parked { reason, .. } => *reason = StopReason::CircuitOpen,
        other => panic!("{other:?}"),
    });
    // Retries were on, says the entry of the attempt.
    let record = parked.forged(|events| match &mut events[2] {
        Event::AttemptFinished { situation, .. } => *situation = Situation::new(),
        other => panic!("{other:?}"),
    });
    assert_eq!(record.replay().unwrap_err().entry, 4);
}

#[test]
fn every_number_of_a_deferral_is_decided() {
    let mut kept = Kept::begin(&New { started: false, ..new() });
    let refusal = Refusal::breaker(Some(5 * SECOND)).on_refusal(OnRefusal::Defer);
    let deferred = kept.before_attempt(SECOND, Situation::new().refused(refusal));
    kept.append(vec![deferred]);
    assert!(kept.read().unwrap().replay().is_ok());
    let forges: [fn(&mut Event); 4] = [
        |event| {
            if let Event::Deferred { until, .. } = event {
                *until += SECOND;
            }
        },
        |event| {
            if let Event::Deferred { reason, .. } = event {
                *reason = StopReason::BudgetExhausted;
            }
        },
        |event| {
            if let Event::Deferred { situation, .. } = event {
                *situation = Situation::new();
            }
        },
        |event| {
            if let Event::Deferred { situation, .. } = event {
                let refusal = Refusal::breaker(Some(5 * SECOND))
                    .on_refusal(OnRefusal::Defer)
                    .deferrals(Refusal::MAX_DEFERRALS);
                *situation = Situation::new().refused(refusal);
            }
        },
    ];
    for forge in forges {
        differs(&kept, 1, forge);
    }
}

#[test]
fn an_attempt_that_may_not_start_is_named() {
    let mut kept = Kept::begin(&New { policy: new().policy.max_attempts(1), ..new() });
    kept.fails(Failure::transient());
    let started = Event::AttemptStarted { attempt: 2, elapsed: 2 * SECOND };
    let forged = |with: Vec<Event>| {
        kept.forged(|events| {
            events.truncate(3);
            events.extend(with);
        })
        .replay()
        .unwrap_err()
    };
    let difference = forged(vec![started.clone()]);
    assert_eq!(difference.entry, 4, "{difference}");
    assert_eq!(
        difference.to_string(),
        "entry 4 of record 01J00000000000000000000001 says start_attempt, and the decision is \
         attempts_exhausted at 1s, for good",
    );
    let parked = Event::Parked {
        elapsed: SECOND,
        reason: StopReason::Cancelled,
        text: String::new(),
        start: None,
        situation: Situation::new(),
    };
    assert_eq!(forged(vec![parked]).entry, 4);
    assert_eq!(forged(vec![Event::Resumed { charged: SECOND }, started]).entry, 4);
}

#[test]
fn a_value_is_kept_or_reviewed_and_by_an_attempt_alone() {
    let mut kept = Kept::begin(&new());
    kept.succeeds("1");
    let result = kept.entries[3].event().clone();
    let forged = |events: Vec<Event>| {
        let kept = Kept { result: None, ..kept.clone() };
        kept.forged(|all| {
            all.truncate(3);
            all.extend(events);
        })
        .replay()
    };
    let (elapsed, text) = (SECOND, String::new());
    let review = |reason| Event::ReviewOpened { elapsed, reason, text: text.clone() };
    assert!(forged(vec![review(StopReason::ManualReview)]).is_ok(), "a person gives the value");
    let started = Event::AttemptStarted { attempt: 2, elapsed };
    for event in [started, Event::LeaseLost {}, Event::Resumed { charged: SECOND }] {
        assert_eq!(forged(vec![event]).unwrap_err().entry, 4);
    }
    let never = kept.forged(|events| {
        events.truncate(1);
        events.push(result);
    });
    assert_eq!(never.replay().unwrap_err().entry, 2);
}

#[test]
fn nothing_is_decided_where_nothing_was_asked() {
    let kept = retried();
    let chosen = kept.entries[3].event().clone();
    let record = kept.forged(|events| events.push(chosen));
    let difference = record.replay().unwrap_err();
    assert_eq!(difference.entry, 5);
    assert_eq!(difference.decided, "that nothing was to be decided");
}

#[test]
fn a_holder_cannot_keep_what_a_replay_would_name() {
    let kept = retried();
    let mut second = Kept::begin(&New { policy: new().policy.max_attempts(1), ..new() });
    second.fails(Failure::transient());
    let first = Kept::begin(&New { policy: new().policy.max_attempts(1), ..new() });
    let failed = second.entries[2].event().clone();
    let started = Event::AttemptStarted { attempt: 2, elapsed: 2 * SECOND };
    let chosen = kept.entries[3].event().clone();
    for events in [
        vec![failed.clone()],
        vec![failed.clone(), started],
        vec![failed, chosen.clone()],
        vec![Event::succeeded(1, SECOND)],
        vec![chosen],
    ] {
        let mut kept = first.clone();
        let before = kept.head.clone();
        let refused = kept.apply(Change::append(kept.fence(), events)).unwrap_err();
        assert!(
            matches!(
                refused,
                Refused::Illegal(RecordError::Undecided { .. } | RecordError::Illegal { .. })
            ),
            "{refused:?}",
        );
        assert_eq!(kept.head, before);
    }
    let change = Change::append(first.fence(), vec![second.entries[2].event().clone()]);
    let refused = first.clone().apply(change).unwrap_err();
    let Refused::Illegal(error) = refused else { panic!("{refused:?}") };
    assert_eq!(
        error.to_string(),
        "nothing after `attempt_finished` cannot be kept: the decision is attempts_exhausted at 1s, for good",
    );
}
