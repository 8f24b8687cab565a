//! What records say as JSON is pinned: they outlive versions.

use super::*;
use crate::StopReason;
use crate::classify::{Class, Effect, Kind};
use crate::decide::{OnRefusal, Refusal};
use crate::hint::Hint;

/// Every kind of event, with everything that it can say and with as little.
fn every_event() -> Vec<(Event, &'static str)> {
    let refusal = Refusal::breaker(Some(5 * SECOND)).on_refusal(OnRefusal::Defer).deferrals(2);
    let everything = Situation::new()
        .effects(2)
        .left_outside(7 * SECOND)
        .inner_stop(Some(StopReason::CircuitOpen))
        .retry_nested(true)
        .disabled(true)
        .nested(2, 3)
        .nesting_limit(5)
        .refused(refusal);
    let failure = Failure::new(Class::Transient)
        .with_effect(Effect::None)
        .with_kind(Kind::Throttled)
        .with_code(-429)
        .with_hint(Hint::Wait(SECOND));
    let finished = |attempt, ended, failure, error: Option<&str>, situation| {
        let error = error.map(str::to_owned);
        Event::AttemptFinished { attempt, elapsed: SECOND, ended, failure, error, situation }
    };
    let usual = Situation::new();
    vec![
        (
            Event::Enqueued {
                operation: KEYED.to_owned(),
                safety: Safety::AtMostOnce,
                policy: Policy::new(5, 90 * SECOND)
                    .attempt_timeout(2 * SECOND)
                    .hint_limit(4 * SECOND)
                    .backoff(
                        Backoff::exponential(Duration::from_nanos(1_500_000_001))
                            .factor(3, 2)
                            .cap(20 * SECOND)
                            .jitter(Jitter::Additive(SECOND)),
                    ),
                rules: 1,
                fingerprint: Arguments::from_json("{}".to_owned()).fingerprint(),
            },
            r#"{"kind":"enqueued","operation":"payments.charge/e3c4b417-f22e-8d73-b6ed-08fd2be399ec","safety":"at_most_once","policy":{"max_attempts":5,"deadline":"90s","attempt_timeout":"2s","hint_limit":"4s","backoff":{"exponential":"1s 500ms 1ns","factor":[3,2],"cap":"20s","jitter":{"additive":"1s"}}},"rules":1,"fingerprint":"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"}"#,
        ),
        (
            Event::Enqueued {
                operation: "flight-1".to_owned(),
                safety: Safety::Idempotent,
                policy: Policy::new(1, SECOND),
                rules: 1,
                fingerprint: Arguments::from_json("null".to_owned()).fingerprint(),
            },
            r#"{"kind":"enqueued","operation":"flight-1","safety":"idempotent","policy":{"max_attempts":1,"deadline":"1s","hint_limit":"60s","backoff":{"exponential":"100ms","jitter":"equal"}},"rules":1,"fingerprint":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b"}"#,
        ),
        (
            Event::AttemptStarted { attempt: 1, elapsed: Duration::ZERO },
            r#"{"kind":"attempt_started","attempt":1,"elapsed_ns":0}"#,
        ),
        (
            finished(1, Ended::Succeeded, None, None, usual),
            r#"{"kind":"attempt_finished","attempt":1,"elapsed_ns":1000000000,"ended":"succeeded"}"#,
        ),
        (
            finished(2, Ended::Failed, Some(failure), Some("busy: \"ä\""), everything),
            r#"{"kind":"attempt_finished","attempt":2,"elapsed_ns":1000000000,"ended":"failed","failure":{"class":"transient","effect":"none","kind":"throttled","hint":{"wait_ns":1000000000},"code":-429},"error":"busy: \"ä\"","situation":{"effects":2,"left_outside_ns":7000000000,"inner_stop":"circuit_open","retry_nested":true,"switch":"disabled","nesting":{"depth":2,"product":3,"limit":5},"refusal":{"by":"breaker","next_ns":5000000000,"deferrals":2,"on_refusal":"defer"}}}"#,
        ),
        (
            finished(3, Ended::Cut, Some(Failure::timeout()), None, usual.shut_down()),
            r#"{"kind":"attempt_finished","attempt":3,"elapsed_ns":1000000000,"ended":"cut","failure":{"class":"transient","effect":"possible","kind":"timeout"},"situation":{"switch":"shut_down"}}"#,
        ),
        (
            finished(4, Ended::Dropped, Some(Failure::rejected()), None, usual),
            r#"{"kind":"attempt_finished","attempt":4,"elapsed_ns":1000000000,"ended":"dropped","failure":{"class":"transient","effect":"possible","kind":"other","rejected":true}}"#,
        ),
        (
            finished(
                5,
                Ended::Panicked,
                Some(Failure::permanent().nested(StopReason::AttemptsExhausted)),
                None,
                usual,
            ),
            r#"{"kind":"attempt_finished","attempt":5,"elapsed_ns":1000000000,"ended":"panicked","failure":{"class":"permanent","effect":"possible","kind":"other","inner":"attempts_exhausted"}}"#,
        ),
        (
            finished(
                6,
                Ended::Crashed,
                Some(Failure::unknown().with_kind(Kind::Connect).with_hint(Hint::DoNotRetry)),
                None,
                usual.refused(Refusal::budget(None)),
            ),
            r#"{"kind":"attempt_finished","attempt":6,"elapsed_ns":1000000000,"ended":"crashed","failure":{"class":"unknown","effect":"possible","kind":"connect","hint":"do_not_retry"},"situation":{"refusal":{"by":"budget","deferrals":0,"on_refusal":"stop"}}}"#,
        ),
        (
            finished(
                7,
                Ended::Failed,
                Some(Failure::transient().afresh().with_kind(Kind::Server)),
                None,
                usual,
            ),
            r#"{"kind":"attempt_finished","attempt":7,"elapsed_ns":1000000000,"ended":"failed","failure":{"class":"transient","effect":"possible","kind":"server","afresh":true}}"#,
        ),
        (
            Event::DelayChosen(DelayChosen {
                attempt: 1,
                ceiling: 2 * SECOND,
                unit: u32::MAX,
                computed: SECOND,
                hint: Some(3 * SECOND),
                delay: 3 * SECOND,
                start: 4 * SECOND,
            }),
            r#"{"kind":"delay_chosen","attempt":1,"ceiling_ns":2000000000,"unit":4294967295,"computed_ns":1000000000,"hint_ns":3000000000,"delay_ns":3000000000,"start_ns":4000000000}"#,
        ),
        (
            Event::DelayChosen(DelayChosen {
                attempt: 1,
                ceiling: SECOND,
                unit: 0,
                computed: SECOND,
                hint: None,
                delay: SECOND,
                start: SECOND,
            }),
            r#"{"kind":"delay_chosen","attempt":1,"ceiling_ns":1000000000,"unit":0,"computed_ns":1000000000,"delay_ns":1000000000,"start_ns":1000000000}"#,
        ),
        (
            Event::Deferred {
                elapsed: SECOND,
                reason: StopReason::BudgetExhausted,
                until: 2 * SECOND,
                situation: usual,
            },
            r#"{"kind":"deferred","elapsed_ns":1000000000,"reason":"budget_exhausted","until_ns":2000000000}"#,
        ),
        (
            Event::Parked {
                elapsed: SECOND,
                reason: StopReason::Disabled,
                text: "retries are switched off".to_owned(),
                start: Some(2 * SECOND),
                situation: usual.disabled(true),
            },
            r#"{"kind":"parked","elapsed_ns":1000000000,"reason":"disabled","text":"retries are switched off","start_ns":2000000000,"situation":{"switch":"disabled"}}"#,
        ),
        (
            Event::Resumed { charged: Duration::from_nanos(i64::MAX as u64) },
            r#"{"kind":"resumed","charged_ns":9223372036854775807}"#,
        ),
        (Event::LeaseLost {}, r#"{"kind":"lease_lost"}"#),
        (Event::Released { attempt: u32::MAX }, r#"{"kind":"released","attempt":4294967295}"#),
        (
            Event::result_recorded("null"),
            r#"{"kind":"result_recorded","sum":"74234e98afe7498fb5daf1f36ac2d78a"}"#,
        ),
        (
            Event::Dead {
                elapsed: SECOND,
                reason: StopReason::AttemptsExhausted,
                text: "all 3 attempts are used up".to_owned(),
                situation: usual,
            },
            r#"{"kind":"dead","elapsed_ns":1000000000,"reason":"attempts_exhausted","text":"all 3 attempts are used up"}"#,
        ),
        (
            Event::ReviewOpened {
                elapsed: SECOND,
                reason: StopReason::ManualReview,
                text: String::new(),
            },
            r#"{"kind":"review_opened","elapsed_ns":1000000000,"reason":"manual_review","text":""}"#,
        ),
    ]
}

#[test]
fn every_event_is_pinned_as_json_and_reads_back() {
    for (event, json) in every_event() {
        assert_eq!(serde_json::to_string(&event).unwrap(), json);
        assert_eq!(serde_json::from_str::<Event>(json).unwrap(), event);
        assert!(json.starts_with(&format!(r#"{{"kind":"{}""#, event.kind())), "{json}");
    }
}

#[test]
fn a_checksum_is_pinned() {
    // SHA-256 over 16 zero bytes, the numbers as u64 big endian and the body, by
    // another program, cut to 16 bytes.
    let numbers = [1, 1_795_000_000_000_000_000, 2, 3];
    let sum = Checksum::START.next(numbers, r#"{"kind":"lease_lost"}"#);
    assert_eq!(sum.to_string(), "0e0024754637ae60294c69db103b62f1");
    let next = sum.next([2, 1_795_000_000_000_000_001, 2, 3], "ä");
    assert_eq!(next.to_string(), "871f5c6861b2300bd7952a00b6ee1f10");
}

/// The first entry of a record, and then this body under a checksum that fits.
fn read_with(body: &str, kind: &str) -> Result<Record, RecordError> {
    let kept = Kept::begin(&new());
    let mut columns = kept.columns();
    let sum = columns[0].sum.next([2, BEGIN.as_nanos().unsigned_abs(), 1, 1], body);
    columns[1] =
        EntryColumns { body: body.to_owned(), kind: kind.to_owned(), sum, ..columns[1].clone() };
    kept.read_as(columns)
}

#[test]
fn what_another_version_wrote_is_not_guessed_at() {
    for (kind, body, word) in [
        ("attempt_paused", r#"{"kind":"attempt_paused","attempt":1}"#, "attempt_paused"),
        (
            "attempt_started",
            r#"{"kind":"attempt_started","attempt":1,"elapsed_ns":0,"lane":2}"#,
            "lane",
        ),
        ("lease_lost", r#"{"kind":"lease_lost","by":"x"}"#, "by"),
        (
            "delay_chosen",
            r#"{"kind":"delay_chosen","attempt":1,"ceiling_ns":1,"unit":0,"computed_ns":1,"delay_ns":1,"start_ns":1,"lane":2}"#,
            "lane",
        ),
        (
            "attempt_finished",
            r#"{"kind":"attempt_finished","attempt":1,"elapsed_ns":1,"ended":"hung"}"#,
            "hung",
        ),
        (
            "attempt_finished",
            r#"{"kind":"attempt_finished","attempt":1,"elapsed_ns":1,"ended":"failed","failure":{"class":"odd","effect":"none","kind":"other"}}"#,
            "odd",
        ),
        (
            "attempt_finished",
            r#"{"kind":"attempt_finished","attempt":1,"elapsed_ns":1,"ended":"failed","failure":{"class":"unknown","effect":"none","kind":"quota"}}"#,
            "quota",
        ),
        (
            "attempt_finished",
            r#"{"kind":"attempt_finished","attempt":1,"elapsed_ns":1,"ended":"failed","failure":{"class":"unknown","effect":"none","kind":"other","lane":1}}"#,
            "lane",
        ),
        (
            "attempt_finished",
            r#"{"kind":"attempt_finished","attempt":1,"elapsed_ns":1,"ended":"failed","failure":{"class":"unknown","effect":"none","kind":"other","inner":"bored"}}"#,
            "bored",
        ),
        (
            "attempt_finished",
            r#"{"kind":"attempt_finished","attempt":1,"elapsed_ns":1,"ended":"failed","failure":{"class":"unknown","effect":"none","kind":"other"},"situation":{"switch":"half"}}"#,
            "half",
        ),
        (
            "attempt_finished",
            r#"{"kind":"attempt_finished","attempt":1,"elapsed_ns":1,"ended":"failed","failure":{"class":"unknown","effect":"none","kind":"other"},"situation":{"lane":1}}"#,
            "lane",
        ),
        ("dead", r#"{"kind":"dead","elapsed_ns":1,"reason":"bored","text":""}"#, "bored"),
        ("parked", r#"{"kind":"parked","elapsed_ns":1,"reason":"disabled"}"#, "text"),
        ("resumed", r#"{"kind":"resumed","charged_ns":-1}"#, "-1"),
        ("resumed", r#"{"kind":"resumed","charged_ns":1.5}"#, "1.5"),
        ("released", r#"{"kind":"released","attempt":4294967296}"#, "4294967296"),
        ("released", r#"{"kind":"released","attempt":1,"attempt":1}"#, "attempt"),
        ("released", r#"{"kind":"released","attempt":1} {}"#, "trailing"),
        ("released", "", "EOF"),
    ] {
        match read_with(body, kind) {
            Err(RecordError::Unreadable { entry: 2, what, .. }) => {
                assert!(what.contains(word), "{body}: {what}");
            }
            other => panic!("{body}: {other:?}"),
        }
    }
}

#[test]
fn a_record_of_newer_rules_says_so() {
    let kept = Kept::begin(&new());
    let Event::Enqueued { operation, safety, policy, fingerprint, .. } =
        kept.entries[0].event().clone()
    else {
        panic!("it is the first");
    };
    let event = Event::Enqueued { operation, safety, policy, fingerprint, rules: RULES + 1 };
    let first = Entry::write(Checksum::START, (1, BEGIN, 0, 0), event).unwrap();
    let mut newer = kept;
    (newer.head.seq, newer.head.sum, newer.head.rules) = (1, first.sum(), RULES + 1);
    let error = newer.read_as(vec![columns(&first)]).unwrap_err();
    assert!(matches!(error, RecordError::NewerRules { rules: 2, .. }), "{error:?}");
    assert_eq!(
        error.to_string(),
        "record 01J00000000000000000000001 was begun under decision rules 2, and this version knows \
         rules up to 1; it can only go on with the version that began it, or a later one",
    );
}

#[test]
fn a_record_that_does_not_begin_is_damaged() {
    let kept = Kept::begin(&new());
    let event = Event::AttemptStarted { attempt: 1, elapsed: Duration::ZERO };
    let first = Entry::write(Checksum::START, (1, BEGIN, 1, 1), event).unwrap();
    let mut headless = kept;
    (headless.head.seq, headless.head.sum) = (1, first.sum());
    let error = headless.read_as(vec![columns(&first)]).unwrap_err();
    assert!(matches!(error, RecordError::Damaged { entry: 1, .. }), "{error:?}");
    headless.head.seq = 0;
    let error = headless.read_as(Vec::new()).unwrap_err();
    assert!(matches!(error, RecordError::Damaged { entry: 0, .. }), "{error:?}");
}
