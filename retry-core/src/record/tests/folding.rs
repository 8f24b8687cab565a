//! Which event can follow which.

use super::*;
use crate::StopReason;
use crate::decide::{OnRefusal, Refusal};

/// One event of each kind, for a record whose last attempt is the `started`-th.
fn each(started: u32) -> Vec<Event> {
    let (elapsed, situation) = (2 * SECOND, Situation::new());
    let finished = |ended, failure| Event::AttemptFinished {
        attempt: started,
        elapsed,
        ended,
        failure,
        error: None,
        situation,
    };
    let (reason, text) = (StopReason::Disabled, String::new());
    vec![
        Event::AttemptStarted { attempt: started + 1, elapsed },
        finished(Ended::Succeeded, None),
        finished(Ended::Crashed, Some(Failure::transient())),
        Event::DelayChosen(DelayChosen {
            attempt: started,
            ceiling: SECOND,
            unit: 1,
            computed: SECOND,
            hint: None,
            delay: SECOND,
            start: 3 * SECOND,
        }),
        Event::Deferred { elapsed, reason, until: 3 * SECOND, situation },
        Event::Parked { elapsed, reason, text: text.clone(), start: None, situation },
        Event::Resumed { charged: SECOND },
        Event::LeaseLost {},
        Event::Released { attempt: started },
        Event::ResultRecorded { sum: String::new() },
        Event::Dead { elapsed, reason, text: text.clone(), situation },
        Event::ReviewOpened { elapsed, reason, text },
    ]
}

fn in_phase(phase: Phase) -> Kept {
    let mut kept = Kept::begin(&New { started: phase != Phase::Ready, ..new() });
    match phase {
        Phase::Parked => kept.fails(Failure::transient()),
        Phase::Review => kept.fails(Failure::unknown()),
        Phase::Dead => kept.fails(Failure::permanent()),
        Phase::Done => kept.succeeds("1"),
        _ => {}
    }
    assert_eq!(kept.head.phase, phase);
    kept
}

#[test]
fn whatever_cannot_follow_is_refused() {
    let waits = [
        "attempt_started",
        "delay_chosen",
        "deferred",
        "parked",
        "resumed",
        "lease_lost",
        "dead",
        "review_opened",
    ];
    for (phase, legal) in [
        (Phase::Ready, [&waits[..], &["result_recorded"]].concat()),
        (Phase::Parked, waits.to_vec()),
        (
            Phase::Running,
            vec!["attempt_finished", "attempt_finished", "resumed", "lease_lost", "released"],
        ),
        (Phase::Review, vec![]),
        (Phase::Done, vec![]),
        (Phase::Dead, vec![]),
    ] {
        let kept = in_phase(phase);
        let mut followed = Vec::new();
        for event in each(kept.head.started) {
            let (kind, mut head) = (event.kind(), kept.head.clone());
            match head.append(event, kept.now) {
                Ok(entry) => {
                    assert_eq!((entry.seq(), entry.sum()), (head.seq, head.sum));
                    followed.push(kind);
                }
                Err(RecordError::Illegal { event, holds }) => {
                    assert_eq!(event, kind);
                    assert!(holds.contains(phase.as_str()), "{holds}");
                }
                Err(other) => panic!("{other}"),
            }
        }
        let (mut legal, mut found) = (legal, followed);
        legal.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, legal, "behind {phase}");
        let again = kept.entries[0].event().clone();
        let began = kept.head.clone().append(again, kept.now);
        assert!(matches!(began, Err(RecordError::Illegal { event: "enqueued", .. })));
    }
}

#[test]
fn an_attempt_has_the_next_number_and_ends_under_it() {
    let ready = in_phase(Phase::Ready);
    for attempt in [0, 2, u32::MAX] {
        let event = Event::AttemptStarted { attempt, elapsed: Duration::ZERO };
        assert!(ready.head.clone().append(event, ready.now).is_err(), "{attempt}");
    }
    let running = in_phase(Phase::Running);
    for attempt in [0, 2] {
        for mut event in each(attempt) {
            // Only those that carry the number of what is running.
            if let Event::AttemptFinished { .. } | Event::Released { .. } = &mut event {
                assert!(running.head.clone().append(event, running.now).is_err(), "{attempt}");
            }
        }
    }
    let mut last = in_phase(Phase::Ready);
    last.head.started = u32::MAX;
    for attempt in [0, u32::MAX] {
        let event = Event::AttemptStarted { attempt, elapsed: Duration::ZERO };
        assert!(last.head.clone().append(event, last.now).is_err(), "{attempt} behind the last");
    }
}

#[test]
fn an_attempt_has_failed_or_it_has_succeeded() {
    let running = in_phase(Phase::Running);
    let ends = [
        Ended::Succeeded,
        Ended::Failed,
        Ended::Cut,
        Ended::Dropped,
        Ended::Panicked,
        Ended::Crashed,
    ];
    for ended in ends {
        for failure in [None, Some(Failure::transient())] {
            let event = Event::AttemptFinished {
                attempt: 1,
                elapsed: SECOND,
                ended,
                failure,
                error: None,
                situation: Situation::new(),
            };
            let folded = running.head.clone().append(event, running.now);
            let legal = failure.is_none() == (ended == Ended::Succeeded);
            assert_eq!(folded.is_ok(), legal, "{ended} with {failure:?}");
        }
    }
}

#[test]
fn time_never_runs_back_and_saturates() {
    let mut kept = in_phase(Phase::Running);
    kept.pass(SECOND);
    let finished = |attempt, elapsed| Event::AttemptFinished {
        attempt,
        elapsed,
        ended: Ended::Failed,
        failure: Some(Failure::transient()),
        error: None,
        situation: Situation::new(),
    };
    kept.head.append(finished(1, 5 * SECOND), kept.now).unwrap();
    let start = Event::AttemptStarted { attempt: 2, elapsed: 4 * SECOND };
    kept.head.append(start, kept.now).unwrap();
    assert_eq!(kept.head.elapsed, 5 * SECOND);
    kept.head.append(Event::Resumed { charged: Duration::MAX }, kept.now).unwrap();
    kept.head.append(Event::Resumed { charged: Duration::MAX }, kept.now).unwrap();
    assert_eq!(kept.head.elapsed.as_nanos(), i64::MAX as u128);
    kept.head.append(finished(2, Duration::MAX), kept.now).unwrap();
    let refusal = Event::Deferred {
        elapsed: Duration::MAX,
        reason: StopReason::CircuitOpen,
        until: Duration::MAX,
        situation: Situation::new(),
    };
    kept.head.append(refusal, kept.now).unwrap();
    assert_eq!(kept.head.planned.map(|at| at.as_nanos()), Some(i64::MAX as u128));
    assert_eq!(kept.head.due_at, kept.now);
}

#[test]
fn a_stop_keeps_the_wait_that_was_planned() {
    let mut kept = in_phase(Phase::Parked);
    assert_eq!(kept.head.planned, Some(11 * SECOND));
    let parked = kept.before_attempt(3 * SECOND, Situation::new().disabled(true));
    kept.append(vec![parked]);
    assert_eq!(kept.head.planned, Some(11 * SECOND));
    assert_eq!(kept.head.due_at, kept.now.plus(8 * SECOND));
    assert_eq!(kept.head.due_reason, Some(StopReason::Disabled));
    // A wait for a permit takes its place.
    let refusal = Refusal::breaker(Some(20 * SECOND)).on_refusal(OnRefusal::Defer);
    let deferred = kept.before_attempt(4 * SECOND, Situation::new().refused(refusal));
    kept.append(vec![deferred]);
    assert_eq!(kept.head.planned, Some(20 * SECOND));
    assert_eq!(kept.head.due_reason, Some(StopReason::CircuitOpen));
    kept.starts();
    assert_eq!((kept.head.planned, kept.head.due_reason), (None, None));
}

#[test]
fn what_was_never_polled_counts_for_nothing_but_its_number() {
    let mut kept = in_phase(Phase::Running);
    kept.append(vec![Event::Released { attempt: 1 }]);
    assert_eq!((kept.head.started, kept.head.attempts()), (1, 0));
    assert_eq!((kept.head.ledger().attempts(), kept.head.ledger().number()), (0, 1));
    assert!(kept.head.has_begun());
    let again = kept.head.clone().append(Event::Released { attempt: 1 }, kept.now);
    assert!(again.is_err(), "it is given back once");
}

#[test]
fn an_attempt_runs_under_a_lease_alone() {
    let mut kept = in_phase(Phase::Ready);
    let started = Event::AttemptStarted { attempt: 1, elapsed: Duration::ZERO };
    let refused = kept.apply(Change::leave(kept.fence(), vec![started])).unwrap_err();
    assert!(matches!(refused, Refused::Illegal(RecordError::Illegal { .. })), "{refused:?}");
    assert_eq!(kept.head.phase, Phase::Ready);
}
