//! Records as a store keeps them, whole, damaged and forged.

mod arbitrary;
mod damage;
mod decisions;
mod fingerprints;
mod folding;
mod histories;
mod names;
mod picked_up;
mod words;

use std::time::Duration;

use super::*;
use crate::classify::Failure;
use crate::decide::{Situation, decide, decide_start};
use crate::{Backoff, Jitter, OperationId, Policy, Safety};

const SECOND: Duration = Duration::from_secs(1);
const LEASE: Duration = Duration::from_secs(30);
const KEYED: &str = "payments.charge/e3c4b417-f22e-8d73-b6ed-08fd2be399ec";
/// In November 2026.
const BEGIN: Timestamp = Timestamp::from_nanos(1_795_000_000_000_000_000);

/// A record as a store keeps it, on a clock of the test's.
#[derive(Clone, Debug)]
struct Kept {
    head: Head,
    entries: Vec<Entry>,
    arguments: Arguments,
    result: Option<String>,
    now: Timestamp,
}

/// An operation with a key, three attempts and ten seconds between them, whose
/// first attempt is under way.
fn new() -> New {
    New {
        record: "01J00000000000000000000001".parse().unwrap(),
        operation: OperationId::from(KEYED),
        safety: Safety::Keyed,
        policy: Policy::new(3, 600 * SECOND)
            .backoff(Backoff::fixed(10 * SECOND).jitter(Jitter::None)),
        arguments: Arguments::of(&serde_json::json!({ "amount": 5 })).unwrap(),
        queue: String::new(),
        code_version: None,
        keep: 3600 * SECOND,
        held: Some(("01J0000000000000000000000W-1".parse().unwrap(), LEASE)),
        started: true,
    }
}

impl Kept {
    fn begin(new: &New) -> Self {
        let (head, entries) = new.apply(BEGIN).unwrap();
        Self { head, entries, arguments: new.arguments.clone(), result: None, now: BEGIN }
    }

    fn pass(&mut self, span: Duration) {
        self.now = self.now.plus(span);
    }

    fn apply(&mut self, change: Change) -> Result<(), Refused> {
        let mut head = self.head.clone();
        let applied = change.apply(&mut head, self.now)?;
        self.entries.extend(applied.entries);
        self.result = applied.result.or(self.result.take());
        self.head = head;
        Ok(())
    }

    /// The holder writes, and keeps its lease.
    fn append(&mut self, events: Vec<Event>) {
        self.apply(Change::append(self.fence(), events)).unwrap();
    }

    fn fence(&self) -> Fence {
        let holder = self.head.lease.held.map_or_else(Holder::new, |(holder, _)| holder);
        Fence { epoch: self.head.lease.epoch, holder }
    }

    fn fails(&mut self, failure: Failure) {
        self.pass(SECOND);
        let events = self.failed(self.head.elapsed + SECOND, failure, Situation::new());
        self.append(events);
    }

    fn starts(&mut self) {
        let elapsed = self.head.planned.unwrap_or(self.head.elapsed);
        self.pass(elapsed.saturating_sub(self.head.elapsed));
        self.apply(Change::start(self.fence(), self.head.started + 1, elapsed)).unwrap();
    }

    fn succeeds(&mut self, result: &str) {
        self.pass(SECOND);
        let (attempt, elapsed) = (self.head.started, self.head.elapsed + SECOND);
        let change = Change::complete(self.fence(), attempt, elapsed, result.to_owned());
        self.apply(change).unwrap();
    }

    /// The next call goes on.
    fn taken_over(&mut self) {
        let epoch = self.head.lease.epoch;
        self.apply(Change::TakeOver { epoch, holder: Holder::new(), lease: LEASE }).unwrap();
    }

    /// A failed attempt, and what the pure function decides, as a loop writes it.
    fn failed(&self, elapsed: Duration, failure: Failure, situation: Situation) -> Vec<Event> {
        let Head { policy, operation, safety, started, .. } = &self.head;
        let recorded = situation.recorded(policy);
        let finished = Event::AttemptFinished {
            attempt: *started,
            elapsed,
            ended: Ended::Failed,
            failure: Some(failure),
            error: Some("no answer".to_owned()),
            situation: recorded,
        };
        let mut ledger = self.head.ledger();
        ledger.attempt_failed(elapsed, &failure);
        let situation = situation.safety(*safety);
        let decision = decide(policy, &ledger, &situation, operation, Some(&failure));
        let followed =
            Event::of_failure(&decision, policy, &ledger, &situation, operation, &failure);
        [finished].into_iter().chain(followed).collect()
    }

    /// What the pure function decides before an attempt, as a loop writes it.
    fn before_attempt(&self, elapsed: Duration, situation: Situation) -> Event {
        let Head { policy, safety, started, .. } = &self.head;
        let mut ledger = self.head.ledger();
        ledger.reached(elapsed);
        let elapsed = ledger.elapsed();
        let decision = decide_start(policy, &ledger, &situation.safety(*safety));
        Event::of_start(&decision, elapsed, situation.recorded(policy))
            .unwrap_or(Event::AttemptStarted { attempt: started + 1, elapsed })
    }

    fn columns(&self) -> Vec<EntryColumns> {
        self.entries.iter().map(columns).collect()
    }

    fn read(&self) -> Result<Record, RecordError> {
        self.read_as(self.columns())
    }

    /// Reads other columns under the same head.
    fn read_as(&self, columns: Vec<EntryColumns>) -> Result<Record, RecordError> {
        let (arguments, result) = (self.arguments.clone(), self.result.clone());
        Record::read(self.head.clone(), columns, arguments, result)
    }

    /// The same events but for what `forge` changes in them, chained anew by
    /// somebody who can compute a checksum, and folded.
    fn forged(&self, forge: impl FnOnce(&mut Vec<Event>)) -> Record {
        let mut events: Vec<_> = self.entries.iter().map(|entry| entry.event().clone()).collect();
        forge(&mut events);
        let first = Entry::write(Checksum::START, (1, BEGIN, 0, 0), events.remove(0)).unwrap();
        let mut head = Head::begin(self.head.record, &first).unwrap();
        (head.keep, head.queue) = (self.head.keep, self.head.queue.clone());
        let mut entries = vec![first];
        head.lease = self.head.lease;
        for event in events {
            entries.push(head.append(event, self.now).unwrap());
        }
        let kept = Self { head, entries, ..self.clone() };
        kept.read().unwrap()
    }
}

fn columns(entry: &Entry) -> EntryColumns {
    entry.into()
}

/// A life with an entry of nearly every kind: deferred, released, crashed, retried,
/// done.
fn eventful() -> Kept {
    use crate::decide::{OnRefusal, Refusal};
    let mut kept = Kept::begin(&New { started: false, ..new() });
    let refusal = Refusal::breaker(Some(5 * SECOND)).on_refusal(OnRefusal::Defer);
    let deferred = kept.before_attempt(Duration::ZERO, Situation::new().refused(refusal));
    kept.append(vec![deferred]);
    kept.starts();
    let change = Change::Abandon {
        fence: kept.fence(),
        ended: None,
        elapsed: kept.head.elapsed,
        situation: Situation::new(),
    };
    kept.apply(change).unwrap();
    kept.pass(SECOND);
    kept.taken_over();
    kept.starts();
    kept.pass(2 * LEASE);
    kept.taken_over();
    let disabled = Situation::new().disabled(true);
    let parked = kept.before_attempt(kept.head.elapsed, disabled);
    kept.append(vec![parked]);
    kept.starts();
    kept.fails(Failure::transient().with_code(503).after(20 * SECOND));
    kept.starts();
    kept.succeeds(r#"{"receipt":"r-1"}"#);
    kept
}

#[test]
fn an_eventful_record_reads_back_and_replays() {
    let kept = eventful();
    let record = kept.read().unwrap();
    assert_eq!(record.entries(), kept.entries);
    let kinds: Vec<_> = record.entries().iter().map(|entry| entry.event().kind()).collect();
    assert_eq!(
        kinds,
        [
            "enqueued",
            "deferred",
            "attempt_started",
            "released",
            "resumed",
            "attempt_started",
            "lease_lost",
            "resumed",
            "attempt_finished",
            "delay_chosen",
            "parked",
            "attempt_started",
            "attempt_finished",
            "delay_chosen",
            "attempt_started",
            "attempt_finished",
            "result_recorded",
        ],
    );
    assert_eq!(record.replay(), Ok(Replayed { entries: 17, decisions: 8 }));
    let Head { phase, started, released, crashes, deferrals, hints, .. } = kept.head;
    assert_eq!((phase, started, released), (Phase::Done, 4, 1));
    assert_eq!((crashes, deferrals, hints), (1, 1, 1));
}
