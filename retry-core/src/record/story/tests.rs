//! Stories of what can become of an operation.

use std::time::Duration;

use expect_test::expect;

use super::*;
use crate::classify::Failure;
use crate::decide::{OnRefusal, Refusal, Situation, decide, decide_start};
use crate::record::{Arguments, Change, Entry, Fence, Holder, New, Timestamp};
use crate::{Kind, Policy};

const KEYED: &str = "payments.charge/e3c4b417-f22e-8d73-b6ed-08fd2be399ec";
const SECOND: Duration = Duration::from_secs(1);

/// A record as a store would keep it, on a calendar of the test's.
struct Kept {
    head: Head,
    entries: Vec<Entry>,
    result: Option<String>,
    now: Timestamp,
    fence: Fence,
}

impl Kept {
    /// Begun in November 2026, its first attempt under way.
    fn begin(operation: &str, safety: Safety) -> Self {
        let holder: Holder = "01J0000000000000000000000W-1".parse().unwrap();
        let now = Timestamp::from_nanos(1_795_000_000_000_000_000);
        let new = New {
            record: "01J00000000000000000000001".parse().unwrap(),
            operation: operation.into(),
            safety,
            policy: Policy::new(3, 60 * SECOND),
            arguments: arguments(),
            queue: String::new(),
            code_version: None,
            keep: 3600 * SECOND,
            held: Some((holder, 30 * SECOND)),
            started: true,
        };
        let (head, entries) = new.apply(now).unwrap();
        Self { head, entries, result: None, now, fence: Fence { epoch: 1, holder } }
    }

    fn apply(&mut self, change: Change) {
        let applied = change.apply(&mut self.head, self.now).unwrap();
        self.entries.extend(applied.entries);
        self.result = applied.result.or(self.result.take());
    }

    fn append(&mut self, events: Vec<Event>) {
        self.apply(Change::append(self.fence, events));
    }

    /// The attempt that is under way fails, and what follows is decided.
    fn fails(&mut self, after: Duration, failure: Failure, error: &str) {
        self.pass(after);
        let finished = Event::AttemptFinished {
            attempt: self.head.started,
            elapsed: self.head.elapsed + after,
            ended: Ended::Failed,
            failure: Some(failure),
            error: Some(error.to_owned()),
            situation: Situation::new(),
        };
        let mut head = self.head.clone();
        head.append(finished.clone(), self.now).unwrap();
        let situation = Situation::new().safety(head.safety);
        let (Head { policy, operation, .. }, ledger) = (&head, head.ledger());
        let decision = decide(policy, &ledger, &situation, operation, Some(&failure));
        let decided =
            Event::of_failure(&decision, policy, &ledger, &situation, operation, &failure);
        self.append(vec![finished, decided.unwrap()]);
    }

    /// The planned attempt starts when it is due.
    fn starts(&mut self) {
        let elapsed = self.head.planned.unwrap();
        self.pass(elapsed - self.head.elapsed);
        self.apply(Change::start(self.fence, self.head.started + 1, elapsed));
    }

    /// Its process is gone, and another call goes on 40 s later.
    fn take_over(&mut self) {
        self.pass(40 * SECOND);
        let holder: Holder = "01J0000000000000000000000X-1".parse().unwrap();
        self.apply(Change::TakeOver { epoch: self.fence.epoch, holder, lease: 30 * SECOND });
        self.fence = Fence { epoch: self.head.lease.epoch, holder };
    }

    fn pass(&mut self, span: Duration) {
        self.now = self.now.plus(span);
    }

    fn story(&self) -> String {
        let record = Record {
            head: self.head.clone(),
            entries: self.entries.clone(),
            arguments: arguments(),
            result: self.result.clone(),
        };
        record.verify().unwrap();
        assert_eq!(record.replay().map(|replayed| replayed.entries), Ok(self.entries.len()));
        record.story()
    }
}

fn arguments() -> Arguments {
    Arguments::of(&serde_json::json!({ "order": "order-1" })).unwrap()
}

fn busy() -> Failure {
    Failure::transient().with_kind(Kind::Server).with_code(503)
}

/// Without what stands in every story of this file.
fn short(story: &str) -> String {
    let facts = ["  record ", "  arguments ", "  policy ", "  repeating "];
    let is_fact = |line: &&str| facts.iter().any(|fact| line.starts_with(fact));
    story.lines().filter(|line| !is_fact(line)).map(|line| format!("{line}\n")).collect()
}

#[test]
fn one_that_uses_up_its_attempts() {
    let mut kept = Kept::begin(KEYED, Safety::Keyed);
    kept.fails(SECOND, busy(), "gateway answered 503");
    kept.starts();
    kept.fails(SECOND, busy().after(2 * SECOND), "gateway answered 503");
    kept.starts();
    kept.fails(SECOND, busy(), "gateway answered 500\n\u{1b}[2Jand more");
    expect![[r#"
        payments.charge/e3c4b417-f22e-8d73-b6ed-08fd2be399ec: dead: attempts_exhausted, all 3 attempts are used up
          record      01J00000000000000000000001
          arguments   {"order":"order-1"}
          policy      at most 3 attempts in 60s; waits exponential from 100ms, factor 2, cap 20s, equal jitter; hints up to 60s
          repeating   is recognized by its key (keyed)

          2026-11-18T11:06:40.000Z            0s  the operation begins
          2026-11-18T11:06:40.000Z            0s  attempt 1 starts
          2026-11-18T11:06:41.000Z            1s  attempt 1 failed: transient, effect possible, server 503 (gateway answered 503)
          2026-11-18T11:06:41.000Z            1s  waits 89.772414ms, until 1.089772414s (computed, ceiling 100ms)
          2026-11-18T11:06:41.089Z  1.089772414s  attempt 2 starts
          2026-11-18T11:06:42.089Z  2.089772414s  attempt 2 failed: transient, effect possible, server 503, hint 2s (gateway answered 503)
          2026-11-18T11:06:42.089Z  2.089772414s  waits 2.811424453s, until 4.901196867s (asked for 2s, computed 181.142445ms)
          2026-11-18T11:06:44.901Z  4.901196867s  attempt 3 starts
          2026-11-18T11:06:45.901Z  5.901196867s  attempt 3 failed: transient, effect possible, server 503 (gateway answered 500\n\u{1b}[2Jand more)
          2026-11-18T11:06:45.901Z  5.901196867s  stopped for good: attempts_exhausted, all 3 attempts are used up

          last error  gateway answered 500\n\u{1b}[2Jand more
          next        the same call answers attempts_exhausted until 2026-11-18T12:06:45.901Z, and is a new operation then
    "#]].assert_eq(&kept.story());
}

#[test]
fn one_whose_process_is_gone() {
    let mut kept = Kept::begin(KEYED, Safety::Keyed);
    expect![[r#"
        payments.charge/e3c4b417-f22e-8d73-b6ed-08fd2be399ec: attempt 1 is under way

          2026-11-18T11:06:40.000Z  0s  the operation begins
          2026-11-18T11:06:40.000Z  0s  attempt 1 starts

          lease       of 01J0000000000000000000000W-1 until 2026-11-18T11:07:10.000Z, claim 1
          time        is over at 2026-11-18T11:07:40.000Z, 60s after the last entry
          next        its holder finishes attempt 1; should its lease end first, the same call takes over, and the attempt counts as crashed
    "#]].assert_eq(&short(&kept.story()));
    kept.take_over();
    expect![[r#"
        payments.charge/e3c4b417-f22e-8d73-b6ed-08fd2be399ec: waits for attempt 2

          2026-11-18T11:06:40.000Z   0s  the operation begins
          2026-11-18T11:06:40.000Z   0s  attempt 1 starts
          2026-11-18T11:07:20.000Z   0s  its holder was lost, and did not extend the lease
          2026-11-18T11:07:20.000Z  40s  taken up again: 40s have passed, and are charged
          2026-11-18T11:07:20.000Z  40s  attempt 1 crashed, its process is gone or was too slow: transient, effect possible, other
          2026-11-18T11:07:20.000Z  40s  waits 89.772414ms, until 40.089772414s (computed, ceiling 100ms)

          lease       of 01J0000000000000000000000X-1 until 2026-11-18T11:07:50.000Z, claim 2
          time        is over at 2026-11-18T11:07:40.000Z, 20s after the last entry
          next        its holder starts attempt 2 at 2026-11-18T11:07:20.089Z; should its lease end first, the same call takes over
    "#]].assert_eq(&short(&kept.story()));
    kept.apply(Change::Abandon {
        fence: kept.fence,
        ended: None,
        elapsed: kept.head.elapsed,
        situation: Situation::new(),
    });
    expect![[r#"
        payments.charge/e3c4b417-f22e-8d73-b6ed-08fd2be399ec: waits for attempt 2

          2026-11-18T11:06:40.000Z   0s  the operation begins
          2026-11-18T11:06:40.000Z   0s  attempt 1 starts
          2026-11-18T11:07:20.000Z   0s  its holder was lost, and did not extend the lease
          2026-11-18T11:07:20.000Z  40s  taken up again: 40s have passed, and are charged
          2026-11-18T11:07:20.000Z  40s  attempt 1 crashed, its process is gone or was too slow: transient, effect possible, other
          2026-11-18T11:07:20.000Z  40s  waits 89.772414ms, until 40.089772414s (computed, ceiling 100ms)

          time        is over at 2026-11-18T11:07:40.000Z, 20s after the last entry
          next        the same call goes on with attempt 2, from 2026-11-18T11:07:20.089Z
    "#]].assert_eq(&short(&kept.story()));
}

#[test]
fn one_that_may_have_taken_effect_and_runs_at_most_once() {
    let mut kept = Kept::begin(KEYED, Safety::AtMostOnce);
    expect![[r#"
        payments.charge/e3c4b417-f22e-8d73-b6ed-08fd2be399ec: attempt 1 is under way
          record      01J00000000000000000000001
          arguments   {"order":"order-1"}
          policy      at most 3 attempts in 60s; waits exponential from 100ms, factor 2, cap 20s, equal jitter; hints up to 60s
          repeating   only what certainly had no effect (at_most_once)

          2026-11-18T11:06:40.000Z  0s  the operation begins
          2026-11-18T11:06:40.000Z  0s  attempt 1 starts

          lease       of 01J0000000000000000000000W-1 until 2026-11-18T11:07:10.000Z, claim 1
          time        is over at 2026-11-18T11:07:40.000Z, 60s after the last entry
          next        its holder finishes attempt 1; should its lease end first, the same call takes over, and the attempt counts as crashed, and a person decides
    "#]].assert_eq(&kept.story());
    kept.take_over();
    expect![[r#"
        payments.charge/e3c4b417-f22e-8d73-b6ed-08fd2be399ec: in review: manual_review, the attempt may have taken effect and runs at most once, so a person must find out

          2026-11-18T11:06:40.000Z   0s  the operation begins
          2026-11-18T11:06:40.000Z   0s  attempt 1 starts
          2026-11-18T11:07:20.000Z   0s  its holder was lost, and did not extend the lease
          2026-11-18T11:07:20.000Z  40s  taken up again: 40s have passed, and are charged
          2026-11-18T11:07:20.000Z  40s  attempt 1 crashed, its process is gone or was too slow: transient, effect possible, other
          2026-11-18T11:07:20.000Z  40s  handed to a person: manual_review, the attempt may have taken effect and runs at most once, so a person must find out

          next        a person finds out what its attempts did; until then nothing runs, and the same call answers manual_review
    "#]].assert_eq(&short(&kept.story()));
}

#[test]
fn one_that_is_deferred_refused_and_dropped() {
    let mut kept = Kept::begin(KEYED, Safety::Keyed);
    kept.fails(SECOND, busy(), "gateway answered 503");
    kept.pass(kept.head.planned.unwrap() - kept.head.elapsed);
    let elapsed = kept.head.planned.unwrap();
    let refusal = Refusal::breaker(Some(elapsed + 5 * SECOND));
    let deferring = Situation::new().refused(refusal.on_refusal(OnRefusal::Defer));
    let decision = decide_start(&kept.head.policy, &kept.head.ledger(), &deferring);
    kept.append(vec![Event::of_start(&decision, elapsed, deferring).unwrap()]);
    kept.starts();
    kept.apply(Change::Abandon {
        fence: kept.fence,
        ended: Some(Ended::Dropped),
        elapsed: kept.head.elapsed + SECOND,
        situation: Situation::new().disabled(true),
    });
    expect![[r#"
        payments.charge/e3c4b417-f22e-8d73-b6ed-08fd2be399ec: waits for attempt 3: disabled

          2026-11-18T11:06:40.000Z            0s  the operation begins
          2026-11-18T11:06:40.000Z            0s  attempt 1 starts
          2026-11-18T11:06:41.000Z            1s  attempt 1 failed: transient, effect possible, server 503 (gateway answered 503)
          2026-11-18T11:06:41.000Z            1s  waits 89.772414ms, until 1.089772414s (computed, ceiling 100ms)
          2026-11-18T11:06:41.089Z  1.089772414s  deferred until 6.089772414s: circuit_open, the local circuit breaker is open
          2026-11-18T11:06:46.089Z  6.089772414s  attempt 2 starts
          2026-11-18T11:06:46.089Z  7.089772414s  attempt 2 was dropped, its caller went away: transient, effect possible, other
          2026-11-18T11:06:46.089Z  7.089772414s  stopped for now: disabled, retries are switched off; the next attempt is planned at 7.270914859s

          last error  gateway answered 503
          time        is over at 2026-11-18T11:07:39.000Z, 52.910227586s after the last entry
          next        the same call goes on with attempt 3, from 2026-11-18T11:06:46.270Z
    "#]].assert_eq(&short(&kept.story()));
}

#[test]
fn one_without_a_key_and_one_of_a_queue() {
    let mut kept = Kept::begin("mail.send#00000000000000ff-7", Safety::Idempotent);
    kept.fails(SECOND, Failure::permanent(), "no such address");
    expect![[r#"
        mail.send#00000000000000ff-7: dead: fail_permanent, the error is permanent
          record      01J00000000000000000000001
          arguments   {"order":"order-1"}
          policy      at most 3 attempts in 60s; waits exponential from 100ms, factor 2, cap 20s, equal jitter; hints up to 60s
          repeating   is harmless (idempotent)

          2026-11-18T11:06:40.000Z  0s  the operation begins
          2026-11-18T11:06:40.000Z  0s  attempt 1 starts
          2026-11-18T11:06:41.000Z  1s  attempt 1 failed: permanent, effect possible, other (no such address)
          2026-11-18T11:06:41.000Z  1s  stopped for good: fail_permanent, the error is permanent

          last error  no such address
          next        nothing: it has no key by which a call could come back to it
    "#]].assert_eq(&kept.story());

    let mut kept = Kept::begin(KEYED, Safety::Keyed);
    kept.head.queue = "payments".to_owned();
    kept.head.code_version = Some("1.4.2".to_owned());
    kept.apply(Change::Abandon {
        fence: kept.fence,
        ended: None,
        elapsed: Duration::ZERO,
        situation: Situation::new(),
    });
    expect![[r#"
        payments.charge/e3c4b417-f22e-8d73-b6ed-08fd2be399ec: ready for attempt 2
          record      01J00000000000000000000001
          arguments   {"order":"order-1"}
          policy      at most 3 attempts in 60s; waits exponential from 100ms, factor 2, cap 20s, equal jitter; hints up to 60s
          repeating   is recognized by its key (keyed)
          code        1.4.2
          queue       payments

          2026-11-18T11:06:40.000Z  0s  the operation begins
          2026-11-18T11:06:40.000Z  0s  attempt 1 starts
          2026-11-18T11:06:40.000Z  0s  attempt 1 is given back: its body never ran, and its number is not used again

          time        is over at 2026-11-18T11:07:40.000Z, 60s after the last entry
          next        a worker of queue `payments` goes on with attempt 2
    "#]].assert_eq(&kept.story());
}

#[test]
fn what_is_long_is_cut() {
    let text = "ä".repeat(1001);
    let shown = Shown(&text).to_string();
    assert!(shown.ends_with("ä … and 2 more bytes"), "{shown}");
    assert_eq!(Shown("a\tb\u{9b}").to_string(), r"a\tb\u{9b}");
}

#[test]
fn a_text_of_somebody_else_steers_no_terminal_and_turns_no_text_around() {
    for (text, shown) in [
        ("a\u{1b}[2Jb\r\n", "a\\u{1b}[2Jb\\r\\n"),
        ("pay\u{202e}eb\u{2066}t", "pay\\u{202e}eb\\u{2066}t"),
        ("\u{200e}\u{200f}\u{61c}", "\\u{200e}\\u{200f}\\u{61c}"),
        ("Gr\u{fc}\u{df}e \u{5e9}\u{5dc}", "Gr\u{fc}\u{df}e \u{5e9}\u{5dc}"),
    ] {
        assert_eq!(Shown(text).to_string(), shown);
    }
}
