//! A store that forgets with the process.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::future::{poll_fn, ready};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use super::{Claimed, Due, Enqueued, List, Reply, Store, StoreClock, StoreError, Write};
use crate::clock::{Clock, ClockHandle, Waiting};
use crate::operation_id::OperationId;
use crate::record::{
    Applied, Arguments, Change, Entry, EntryColumns, Head, New, Phase, Record, RecordId, Refused,
    Timestamp,
};

/// Keeps records in memory, with the semantics of every other store: for tests of
/// what durable operations do. Clones share what is kept.
///
/// A test that restarts its service keeps the store and makes everything else
/// anew.
///
/// ```
/// use retry_core::clock::VirtualClock;
/// use retry_core::store::MemoryStore;
///
/// // Leases and due times on the time of the test.
/// let clock = VirtualClock::new();
/// let store = MemoryStore::with_clock(clock.clone());
/// ```
#[derive(Clone)]
pub struct MemoryStore {
    clock: ClockHandle,
    shared: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    records: BTreeMap<RecordId, Kept>,
    /// The latest record of each id with a key.
    keys: HashMap<OperationId, RecordId>,
    time: StoreClock,
    /// Who waits for a record to be free.
    waiting: Vec<(RecordId, Waker)>,
}

struct Kept {
    head: Head,
    entries: Vec<Entry>,
    arguments: Arguments,
    result: Option<String>,
}

impl MemoryStore {
    /// An empty store on the machine's clock.
    pub fn new() -> Self {
        Self::on(ClockHandle::RUNTIME)
    }

    /// An empty store on this clock.
    pub fn with_clock(clock: impl Clock) -> Self {
        Self::on(ClockHandle::shared(Arc::new(clock)))
    }

    fn on(clock: ClockHandle) -> Self {
        Self { clock, shared: Arc::default() }
    }

    /// Answers at once: nothing in memory is waited for.
    fn answer<T: Send + 'static>(
        &self,
        act: impl FnOnce(&mut State, Timestamp) -> Result<T, StoreError>,
    ) -> Reply<T> {
        let (answer, woken) = {
            let mut state = self.state();
            let now = state.now(&self.clock);
            let answer = act(&mut state, now);
            (answer, state.take_freed(now))
        };
        // Woken without the lock: a waker may poll at once.
        woken.into_iter().for_each(Waker::wake);
        Box::pin(ready(answer))
    }

    /// Nothing panics under the lock.
    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl Store for MemoryStore {
    fn enqueue(&self, new: New) -> Reply<Enqueued> {
        let limits = self.limits();
        self.answer(|state, now| {
            if let Some(record) = state.current(&new.operation, now) {
                return Ok(Enqueued::Existing(Box::new(state.read(record)?)));
            }
            limits.check_arguments(&new.arguments)?;
            let (head, entries) = new.apply(now)?;
            if new.operation.key().is_some() {
                state.keys.insert(new.operation, new.record);
            }
            let kept = Kept { head: head.clone(), entries, arguments: new.arguments, result: None };
            state.records.insert(new.record, kept);
            Ok(Enqueued::New(Box::new(head)))
        })
    }

    fn commit(&self, writes: Vec<Write>) -> Reply<Vec<Result<Head, Refused>>> {
        self.answer(|state, now| {
            let apply = |Write { record, change }| state.apply(record, change, now);
            Ok(writes.into_iter().map(apply).collect())
        })
    }

    fn post(&self, write: Write) {
        drop(self.commit(vec![write]));
    }

    fn claim(&self, due: Due) -> Reply<Vec<Claimed>> {
        self.answer(|state, now| {
            let is_due = |head: &Head| {
                let waits = matches!(head.phase, Phase::Ready | Phase::Parked);
                waits && head.lease.held.is_none() && head.queue == due.queue && head.due_at <= now
            };
            let records = state.earliest(is_due, |head| head.due_at, due.limit);
            let mut claimed = Vec::new();
            for record in records {
                let change = Change::Claim { holder: due.holder, lease: due.lease };
                let head = state.apply(record, change, now);
                let kept = state.records.get(&record);
                // One whose time is over is dead now, and claimed by nobody.
                if let (Ok(head), Some(kept)) = (head, kept)
                    && head.lease.held.is_some()
                {
                    claimed.push(Claimed { head, arguments: kept.arguments.clone() });
                }
            }
            Ok(claimed)
        })
    }

    fn reclaim(&self, limit: usize) -> Reply<Vec<Head>> {
        self.answer(|state, now| {
            let is_lost = |head: &Head| head.lease.held.is_some_and(|(_, until)| until <= now);
            let until = |head: &Head| head.lease.held.map_or(now, |(_, until)| until);
            let records = state.earliest(is_lost, until, limit);
            let judge = |record| {
                let epoch = state.records.get(&record)?.head.lease.epoch;
                state.apply(record, Change::Reclaim { epoch }, now).ok()
            };
            Ok(records.into_iter().filter_map(judge).collect())
        })
    }

    fn find(&self, operation: OperationId) -> Reply<Option<Record>> {
        self.answer(|state, now| {
            let record = state.current(&operation, now);
            record.map(|record| state.read(record)).transpose()
        })
    }

    fn read(&self, record: RecordId) -> Reply<Option<Record>> {
        self.answer(|state, _| {
            let known = state.records.contains_key(&record);
            known.then(|| state.read(record)).transpose()
        })
    }

    fn list(&self, list: List) -> Reply<Vec<Head>> {
        self.answer(|state, _| {
            let List { name, operation, phase, before, limit } = list;
            let heads = state.records.values().rev().map(|kept| &kept.head);
            let heads = heads
                .filter(|head| before.is_none_or(|before| head.record < before))
                .filter(|head| name.as_deref().is_none_or(|name| head.operation.name() == name))
                .filter(|head| {
                    operation.as_ref().is_none_or(|operation| head.operation == *operation)
                })
                .filter(|head| phase.is_none_or(|phase| head.phase == phase));
            Ok(heads.take(limit).cloned().collect())
        })
    }

    fn freed(&self, record: RecordId) -> Reply<()> {
        let store = self.clone();
        let mut timer = None;
        Box::pin(poll_fn(move |cx| store.poll_freed(record, &mut timer, cx).map(Ok)))
    }

    fn retain(&self, limit: usize) -> Reply<usize> {
        self.answer(|state, now| {
            let has_key = |head: &Head| state.keys.get(&head.operation) == Some(&head.record);
            let ended = state.earliest(
                |head| head.has_expired(now) && (head.phase == Phase::Done || has_key(head)),
                |head| head.updated_at,
                limit,
            );
            ended.iter().for_each(|record| state.forget(*record));
            Ok(ended.len())
        })
    }
}

impl MemoryStore {
    fn poll_freed(
        &self,
        record: RecordId,
        timer: &mut Option<Pin<Box<Waiting>>>,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        loop {
            let mut state = self.state();
            let now = state.now(&self.clock);
            let held = state.records.get(&record).and_then(|kept| kept.head.lease.held);
            let Some((_, until)) = held.filter(|(_, until)| *until > now) else {
                return Poll::Ready(());
            };
            let waits = |(waiting, waker): &(RecordId, Waker)| {
                *waiting == record && waker.will_wake(cx.waker())
            };
            if !state.waiting.iter().any(waits) {
                state.waiting.push((record, cx.waker().clone()));
            }
            drop(state);
            if self.clock.is_missing() {
                return Poll::Pending;
            }
            let timer = timer.get_or_insert_with(|| Waiting::new(self.clock.clone()));
            let Some(at) = self.clock.now().checked_add(until.since(now)) else {
                return Poll::Pending;
            };
            timer.as_mut().set(at);
            if timer.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
    }
}

impl State {
    fn now(&mut self, clock: &ClockHandle) -> Timestamp {
        // Nobody else writes: it knows the latest time by itself.
        self.time.now(Timestamp::default(), clock.utc(), clock.now())
    }

    /// The record that an id with a key stands for, if it has not expired.
    fn current(&self, operation: &OperationId, now: Timestamp) -> Option<RecordId> {
        let record = *self.keys.get(operation)?;
        let head = &self.records.get(&record)?.head;
        (!head.has_expired(now)).then_some(record)
    }

    fn apply(&mut self, record: RecordId, change: Change, now: Timestamp) -> Result<Head, Refused> {
        let kept = self.records.get_mut(&record).ok_or(Refused::Missing)?;
        let mut head = kept.head.clone();
        let Applied { entries, result } = change.apply(&mut head, now)?;
        kept.entries.extend(entries);
        kept.result = result.or(kept.result.take());
        kept.head = head.clone();
        Ok(head)
    }

    /// Frees the key of an ended record, and removes it where it is done.
    fn forget(&mut self, record: RecordId) {
        let Some(head) = self.records.get(&record).map(|kept| &kept.head) else {
            return;
        };
        if self.keys.get(&head.operation) == Some(&record) {
            self.keys.remove(&head.operation);
        }
        if head.phase == Phase::Done {
            self.records.remove(&record);
        }
    }

    /// Verified, as from a medium that can lie.
    fn read(&self, record: RecordId) -> Result<Record, StoreError> {
        let Some(Kept { head, entries, arguments, result }) = self.records.get(&record) else {
            return Err(StoreError::Closed);
        };
        let columns = entries.iter().map(EntryColumns::from);
        Ok(Record::read(head.clone(), columns, arguments.clone(), result.clone())?)
    }

    fn earliest(
        &self,
        wanted: impl Fn(&Head) -> bool,
        at: impl Fn(&Head) -> Timestamp,
        limit: usize,
    ) -> Vec<RecordId> {
        let heads = self.records.values().map(|kept| &kept.head).filter(|head| wanted(head));
        let mut found: Vec<_> = heads.map(|head| (at(head), head.record)).collect();
        found.sort_unstable();
        found.into_iter().take(limit).map(|(_, record)| record).collect()
    }

    /// The wakers of those whose record is free.
    fn take_freed(&mut self, now: Timestamp) -> Vec<Waker> {
        let records = &self.records;
        let is_free = |(record, _): &mut (RecordId, Waker)| {
            !records.get(record).is_some_and(|kept| kept.head.is_held(now))
        };
        self.waiting.extract_if(.., is_free).map(|(_, waker)| waker).collect()
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").field("records", &self.state().records.len()).finish()
    }
}

#[cfg(all(test, feature = "conformance"))]
mod tests {
    use super::super::conformance;
    use super::*;

    #[test]
    fn it_conforms() {
        conformance::run(MemoryStore::with_clock);
    }
}
