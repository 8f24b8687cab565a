//! A store under test, and what every write to it is held against.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant, SystemTime};

use crate::clock::{Clock, VirtualClock};
use crate::decide::{Situation, decide};
use crate::key::IdempotencyKey;
use crate::operation_id::OperationId;
use crate::policy::Policy;
use crate::record::{
    Applied, Arguments, Change, Ended, Event, Fence, Head, Holder, New, Record, RecordId, Refused,
    Timestamp,
};
use crate::store::{Claimed, Due, Enqueued, Reply, Store, StoreError, Write};
use crate::{Backoff, Failure, Jitter, Safety};

pub(super) const SECOND: Duration = Duration::from_secs(1);
pub(super) const HOUR: Duration = Duration::from_secs(3600);
/// How long a lease is, unless a case is about that.
pub(super) const LEASE: Duration = Duration::from_secs(30);
/// How long a retry waits, without jitter.
pub(super) const DELAY: Duration = Duration::from_secs(10);
/// How much time an operation has.
pub(super) const DEADLINE: Duration = Duration::from_secs(600);
pub(super) const QUEUE: &str = "payments";

/// A store, the clock that it was given, and the ids of records to come.
pub(super) struct Subject {
    store: Box<dyn Store>,
    clock: VirtualClock,
    records: AtomicU64,
    /// After a step back only the store knows its own time.
    was_stepped_back: AtomicBool,
}

impl Subject {
    pub(super) fn new<S: Store>(make: impl FnOnce(VirtualClock) -> S) -> Self {
        /// January 2026: room to step back.
        const BEGIN: Duration = Duration::from_secs(1_767_225_600);
        let clock = VirtualClock::manual();
        clock.set_utc(SystemTime::UNIX_EPOCH + BEGIN);
        Self {
            store: Box::new(make(clock.clone())),
            clock,
            records: AtomicU64::new(0),
            was_stepped_back: AtomicBool::new(false),
        }
    }

    pub(super) fn store(&self) -> &dyn Store {
        &*self.store
    }

    pub(super) const fn clock(&self) -> &VirtualClock {
        &self.clock
    }

    pub(super) fn advance(&self, span: Duration) {
        self.clock.advance(span);
    }

    pub(super) fn step_forward(&self, span: Duration) {
        self.clock.set_utc(self.clock.utc() + span);
    }

    pub(super) fn step_back(&self, span: Duration) {
        self.was_stepped_back.store(true, Ordering::Relaxed);
        self.clock.set_utc(self.clock.utc() - span);
    }

    /// The time of the calendar: that of the store, unless it was stepped back.
    pub(super) fn now(&self) -> Timestamp {
        Timestamp::from(self.clock.utc())
    }

    /// A record that is not there yet. Later ones sort behind earlier ones.
    pub(super) fn record(&self) -> RecordId {
        let made = self.records.fetch_add(1, Ordering::Relaxed) + 1;
        let text = format!("{made:026}");
        text.parse().unwrap_or_else(|error| panic!("{error}"))
    }

    /// An operation with a key that nobody holds, in no queue: three attempts,
    /// ten seconds between them.
    pub(super) fn operation(&self, key: &str) -> New {
        New {
            record: self.record(),
            operation: keyed("payments.charge", key),
            safety: Safety::Keyed,
            policy: policy(3),
            arguments: arguments(&serde_json::json!({ "amount": 5, "order": key })),
            queue: String::new(),
            code_version: Some("7".to_owned()),
            keep: HOUR,
            held: None,
            started: false,
        }
    }

    /// The same, in the queue.
    pub(super) fn queued(&self, key: &str) -> New {
        New { queue: QUEUE.to_owned(), ..self.operation(key) }
    }

    /// The same, under a lease, and its first attempt charged.
    pub(super) fn running(&self, key: &str) -> New {
        New { held: Some((Holder::new(), LEASE)), started: true, ..self.operation(key) }
    }

    pub(super) fn enqueue(&self, new: New) -> Enqueued {
        let is_known = |error| panic!("`enqueue` failed: {error}");
        self.try_enqueue(new).unwrap_or_else(is_known)
    }

    pub(super) fn try_enqueue(&self, new: New) -> Result<Enqueued, StoreError> {
        let before = self.now();
        let enqueued = self.wait_for("`enqueue`", self.store.enqueue(new.clone()))?;
        match &enqueued {
            Enqueued::New(head) => {
                let kept = self.verified(new.record);
                assert_eq!(kept.head(), &**head, "`enqueue` answers the head that is kept");
                if let (false, Ok((expected, entries))) =
                    (self.is_stepped_back(), new.apply(before))
                {
                    assert_eq!(**head, expected, "what begins is what `New::apply` gives");
                    assert_eq!(kept.entries(), entries, "`enqueue` keeps the first entries");
                }
                assert_eq!(kept.arguments(), &new.arguments, "the arguments are kept");
            }
            Enqueued::Existing(record) => {
                assert_eq!(
                    **record,
                    self.verified(record.head().record),
                    "`enqueue` answers the record that is there, whole",
                );
                assert!(
                    record.head().record == new.record || self.read(new.record).is_none(),
                    "where an operation is there already, `enqueue` keeps nothing of another",
                );
            }
        }
        Ok(enqueued)
    }

    /// Enqueues an operation that is not there yet.
    pub(super) fn begin(&self, new: New) -> Head {
        match self.enqueue(new) {
            Enqueued::New(head) => *head,
            Enqueued::Existing(record) => {
                panic!("`enqueue` found {:?}, and nothing is there", record.head())
            }
        }
    }

    /// Applies changes, and holds each answer, and what is kept, against what
    /// [`Change::apply`] gives.
    pub(super) fn commit(&self, writes: Vec<Write>) -> Vec<Result<Head, Refused>> {
        let mut model = Model::read(self, &writes);
        let answers = self.answer("`commit`", self.store.commit(writes.clone()));
        assert_eq!(
            answers.len(),
            writes.len(),
            "`commit` answers each write, in the order in which they were given"
        );
        for (write, answer) in writes.into_iter().zip(&answers) {
            let what = format!("{write:?}");
            let expected = model.apply(write);
            if !self.is_stepped_back() {
                assert_eq!(
                    *answer, expected,
                    "`commit` answers what `Change::apply` gives: {what}"
                );
            }
        }
        for (record, expected) in &model.records {
            let kept = self.verified_if_there(*record);
            match expected {
                Some(expected) if !self.is_stepped_back() => {
                    let kept =
                        kept.map(|kept| (kept.head().clone(), kept.result().map(str::to_owned)));
                    let expected = Some((expected.head.clone(), expected.result.clone()));
                    assert_eq!(
                        kept, expected,
                        "what is kept is what `Change::apply` gives, and of what it refuses nothing"
                    );
                }
                Some(_) => {}
                None => assert_eq!(kept, None, "a write to a record that is not there makes none"),
            }
        }
        answers
    }

    pub(super) fn write(&self, record: RecordId, change: Change) -> Result<Head, Refused> {
        let mut answers = self.commit(vec![Write { record, change }]);
        answers.swap_remove(0)
    }

    /// A write that applies.
    pub(super) fn wrote(&self, record: RecordId, change: Change) -> Head {
        let what = format!("{change:?}");
        self.write(record, change)
            .unwrap_or_else(|refused| panic!("{what} was refused, and applies: {refused:?}"))
    }

    /// A write that is refused, and leaves everything as it was.
    #[track_caller]
    pub(super) fn refused(&self, record: RecordId, change: Change, expected: &Refused, rule: &str) {
        let before = self.verified_if_there(record);
        let what = format!("{change:?}");
        match self.write(record, change) {
            Err(refused) => assert_eq!(refused, *expected, "{rule}: {what}"),
            Ok(head) => panic!("{rule}, and this was kept: {what}, giving {head:?}"),
        }
        assert_eq!(self.verified_if_there(record), before, "a refused change writes nothing");
    }

    /// The holder writes.
    pub(super) fn append(&self, head: &Head, keeps: bool, events: Vec<Event>) -> Head {
        self.wrote(head.record, Change::Append { fence: fence(head), events, keeps, result: None })
    }

    /// The next attempt is charged.
    pub(super) fn start(&self, head: &Head) -> Head {
        let event = Event::AttemptStarted { attempt: head.started + 1, elapsed: head.elapsed };
        self.append(head, true, vec![event])
    }

    /// The attempt failed after another second, and what follows is kept.
    pub(super) fn fail(&self, head: &Head, keeps: bool, failure: Failure) -> Head {
        self.append(head, keeps, failed(head, failure))
    }

    pub(super) fn succeed(&self, head: &Head, result: &str) -> Head {
        self.wrote(head.record, succeeded(head, result))
    }

    pub(super) fn claim(&self, limit: usize) -> Vec<Claimed> {
        self.claim_of(QUEUE, limit)
    }

    pub(super) fn claim_of(&self, queue: &str, limit: usize) -> Vec<Claimed> {
        let claimed = self.answer("`claim`", self.store.claim(due(queue, limit)));
        for Claimed { head, arguments } in &claimed {
            let kept = self.verified(head.record);
            assert_eq!(kept.head(), head, "`claim` answers the head that is kept");
            assert_eq!(kept.arguments(), arguments, "`claim` answers the arguments");
        }
        claimed
    }

    /// Claims the one operation that is due.
    pub(super) fn claim_one(&self) -> Head {
        let mut claimed = self.claim(1);
        match claimed.pop() {
            Some(Claimed { head, .. }) => head,
            None => panic!("an operation is due, and `claim` gave none"),
        }
    }

    pub(super) fn reclaim(&self, limit: usize) -> Vec<Head> {
        let heads = self.answer("`reclaim`", self.store.reclaim(limit));
        for head in &heads {
            let kept = self.verified(head.record);
            assert_eq!(kept.head(), head, "`reclaim` answers the head that is kept");
        }
        heads
    }

    pub(super) fn read(&self, record: RecordId) -> Option<Record> {
        self.answer("`read`", self.store.read(record))
    }

    pub(super) fn find(&self, operation: &OperationId) -> Option<Record> {
        self.answer("`find`", self.store.find(operation.clone()))
    }

    pub(super) fn retain(&self, limit: usize) -> usize {
        self.answer("`retain`", self.store.retain(limit))
    }

    /// A record that is there, and holds what every record does.
    pub(super) fn verified(&self, record: RecordId) -> Record {
        self.verified_if_there(record)
            .unwrap_or_else(|| panic!("record {record} was kept, and `read` finds none"))
    }

    pub(super) fn verified_if_there(&self, record: RecordId) -> Option<Record> {
        let record = self.read(record)?;
        if let Err(difference) = record.replay() {
            panic!("every decision that is kept is that of the pure function: {difference}");
        }
        let mut last = None;
        for pair in record.entries().windows(2) {
            assert!(pair[0].at() <= pair[1].at(), "the times of a record never run back");
            assert!(pair[0].epoch() <= pair[1].epoch(), "the epochs of a record never fall");
        }
        for entry in record.entries() {
            if let Event::AttemptStarted { attempt, .. } = *entry.event() {
                assert!(last < Some(attempt), "the number of an attempt is never used again");
                last = Some(attempt);
            }
        }
        let head = record.head();
        assert!(
            head.attempts() <= head.policy.get_max_attempts(),
            "no more attempts are charged than the policy allows"
        );
        Some(record)
    }

    /// The kinds of a record's entries, from one on.
    pub(super) fn kinds(&self, record: RecordId) -> Vec<&'static str> {
        self.verified(record).entries().iter().map(|entry| entry.event().kind()).collect()
    }

    /// Behind everything that was asked for before.
    pub(super) fn settle(&self) {
        let change =
            Change::Heartbeat { fence: Fence { epoch: 1, holder: Holder::new() }, lease: LEASE };
        let write = Write { record: self.record(), change };
        let answers = self.answer("`commit`", self.store.commit(vec![write]));
        assert_eq!(answers, [Err(Refused::Missing)], "there is no such record");
    }

    /// An answer that is no error of the store.
    pub(super) fn answer<T>(&self, what: &str, reply: Reply<T>) -> T {
        self.wait_for(what, reply).unwrap_or_else(|error| panic!("{what} failed: {error}"))
    }

    fn wait_for<T>(&self, what: &str, reply: Reply<T>) -> Result<T, StoreError> {
        block_on(what, reply)
    }

    fn is_stepped_back(&self) -> bool {
        self.was_stepped_back.load(Ordering::Relaxed)
    }
}

/// What the pure function gives for each write of a commit.
struct Model {
    now: Timestamp,
    records: BTreeMap<RecordId, Option<Modelled>>,
}

struct Modelled {
    head: Head,
    result: Option<String>,
}

impl Model {
    fn read(subject: &Subject, writes: &[Write]) -> Self {
        let read = |write: &Write| {
            let kept = subject.read(write.record).map(|record| Modelled {
                head: record.head().clone(),
                result: record.result().map(str::to_owned),
            });
            (write.record, kept)
        };
        Self { now: subject.now(), records: writes.iter().map(read).collect() }
    }

    fn apply(&mut self, Write { record, change }: Write) -> Result<Head, Refused> {
        let modelled = self.records.get_mut(&record).and_then(Option::as_mut);
        let modelled = modelled.ok_or(Refused::Missing)?;
        let mut head = modelled.head.clone();
        let Applied { result, .. } = change.apply(&mut head, self.now)?;
        modelled.result = result.or_else(|| modelled.result.take());
        modelled.head = head.clone();
        Ok(head)
    }
}

pub(super) fn policy(max_attempts: u32) -> Policy {
    waiting(max_attempts, DELAY)
}

/// A policy whose retries wait exactly so long.
pub(super) fn waiting(max_attempts: u32, delay: Duration) -> Policy {
    let backoff = Backoff::fixed(delay).jitter(Jitter::None);
    Policy::new(max_attempts, DEADLINE.max(delay * 3)).backoff(backoff)
}

pub(super) fn keyed(name: &'static str, key: &str) -> OperationId {
    match IdempotencyKey::derive(name, key) {
        Ok(key) => OperationId::keyed(name, key),
        Err(error) => panic!("{error}"),
    }
}

pub(super) fn arguments(value: &serde_json::Value) -> Arguments {
    Arguments::of(value).unwrap_or_else(|error| panic!("{error}"))
}

pub(super) fn due(queue: &str, limit: usize) -> Due {
    Due { queue: queue.to_owned(), limit, holder: Holder::new(), lease: LEASE }
}

/// The claim of whoever holds it.
pub(super) fn fence(head: &Head) -> Fence {
    match head.lease.held {
        Some((holder, _)) => Fence { epoch: head.lease.epoch, holder },
        None => panic!("nobody holds it: {head:?}"),
    }
}

/// Until when it is held.
pub(super) fn until(head: &Head) -> Option<Timestamp> {
    head.lease.held.map(|(_, until)| until)
}

/// The call goes on with what it has read.
pub(super) fn take_over(head: &Head) -> Change {
    Change::TakeOver { epoch: head.lease.epoch, holder: Holder::new(), lease: LEASE }
}

pub(super) fn heartbeat(head: &Head, lease: Duration) -> Change {
    Change::Heartbeat { fence: fence(head), lease }
}

/// The holder is gone a second later.
pub(super) fn abandon(head: &Head, ended: Option<Ended>) -> Change {
    let (fence, elapsed) = (fence(head), head.elapsed + SECOND);
    Change::Abandon { fence, ended, elapsed, situation: Situation::new() }
}

/// The attempt failed after another second, and what the pure function decides.
pub(super) fn failed(head: &Head, failure: Failure) -> Vec<Event> {
    failed_with(head, failure, Some("no answer"))
}

pub(super) fn failed_with(head: &Head, failure: Failure, error: Option<&str>) -> Vec<Event> {
    let elapsed = head.elapsed + SECOND;
    let finished = Event::AttemptFinished {
        attempt: head.started,
        elapsed,
        ended: if error.is_some() { Ended::Failed } else { Ended::Cut },
        failure: Some(failure),
        error: error.map(str::to_owned),
        situation: Situation::new(),
    };
    let mut ledger = head.ledger();
    ledger.attempt_failed(elapsed, &failure);
    let situation = Situation::new().safety(head.safety);
    let decision = decide(&head.policy, &ledger, &situation, &head.operation, Some(&failure));
    let mut events = vec![finished];
    let Head { policy, operation, .. } = head;
    let followed = Event::of_failure(&decision, policy, &ledger, &situation, operation, &failure);
    events.extend(followed);
    events
}

/// The attempt gave a value after another second.
pub(super) fn succeeded(head: &Head, result: &str) -> Change {
    Change::complete(fence(head), head.started, head.elapsed + SECOND, result.to_owned())
}

/// What the pure function decides before an attempt, where it is no attempt.
pub(super) fn before_attempt(head: &Head, situation: Situation) -> Event {
    let decision = decide(&head.policy, &head.ledger(), &situation, &head.operation, None);
    match Event::of_start(&decision, head.elapsed, situation) {
        Some(event) => event,
        None => panic!("an attempt may start: {head:?}"),
    }
}

/// Waits on this thread, whoever wakes it.
pub(super) fn block_on<F: Future + Unpin>(what: &str, mut future: F) -> F::Output {
    /// No answer takes so long on any machine: it is never given.
    const NEVER: Duration = Duration::from_secs(120);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut cx = Context::from_waker(&waker);
    let begin = Instant::now();
    loop {
        if let Poll::Ready(output) = Pin::new(&mut future).poll(&mut cx) {
            return output;
        }
        let Some(left) = NEVER.checked_sub(begin.elapsed()) else {
            panic!("{what} has not answered in {NEVER:?}: its waker was not woken");
        };
        thread::park_timeout(left);
    }
}

/// Asks once.
pub(super) fn is_ready<F: Future + Unpin>(future: &mut F) -> bool {
    let mut cx = Context::from_waker(Waker::noop());
    Pin::new(future).poll(&mut cx).is_ready()
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
