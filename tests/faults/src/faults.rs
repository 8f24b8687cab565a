//! A store in which its process can be made to die.

use std::collections::HashMap;
use std::fmt;
use std::future::pending;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use retry_core::OperationId;
use retry_core::record::{Change, Head, New, Record, RecordId, Refused, Timestamp};
use retry_core::store::{Claimed, Due, Enqueued, Limits, List, Reply, Store, Write};

use crate::point::{Boundary, Fault, Moment};
use crate::said::{Kept, Said};

/// A store that says what it has acknowledged before anybody acts on it, and kills
/// its own process at a fault: by SIGKILL, so that nothing unwinds and nothing is
/// dropped.
#[derive(Clone)]
pub struct Faults<S>(Arc<Inner<S>>);

struct Inner<S> {
    store: S,
    fault: Option<Fault>,
    /// How long after a write is asked for `during` is.
    later: Duration,
    passed: AtomicU32,
    /// Until when a record was held when it was last read, if it was.
    held: Mutex<HashMap<RecordId, Timestamp>>,
}

impl<S: Store> Faults<S> {
    /// A process that uses this store dies at the fault. `during` is that much
    /// later than the write is asked for.
    pub fn new(store: S, fault: Option<Fault>, later: Duration) -> Self {
        let (passed, held) = (AtomicU32::new(0), Mutex::default());
        Self(Arc::new(Inner { store, fault, later, passed, held }))
    }

    /// Passes the moments of one write. What is acknowledged is said first; where
    /// nothing is to be said, nothing was written.
    fn write<T: Send + 'static>(
        &self,
        boundaries: &[Boundary],
        ask: impl FnOnce(&S) -> Reply<T>,
        said: impl FnOnce(&T) -> Vec<Said> + Send + 'static,
    ) -> Reply<T> {
        let inner = &self.0;
        if let Some(fault) = inner.hit(boundaries, Moment::Before) {
            die(fault);
        }
        let reply = ask(&inner.store);
        if let Some(fault) = inner.hit(boundaries, Moment::During) {
            inner.die_soon(fault);
            return Box::pin(pending());
        }
        let (inner, boundaries) = (Arc::clone(inner), boundaries.to_vec());
        Box::pin(async move {
            let answer = reply.await?;
            let said = said(&answer);
            let is_kept = !said.is_empty();
            said.iter().for_each(Said::say);
            if is_kept && let Some(fault) = inner.hit(&boundaries, Moment::After) {
                die(fault);
            }
            Ok(answer)
        })
    }

    fn boundaries_of(&self, writes: &[Write]) -> Vec<Boundary> {
        let of = |write: &Write| match &write.change {
            Change::TakeOver { .. } => match self.0.was_held(write.record) {
                // Refused: somebody holds it.
                Some(until) if until > Timestamp::from(SystemTime::now()) => Vec::new(),
                until => Boundary::of_change(&write.change, until.is_some()),
            },
            change => Boundary::of_change(change, false),
        };
        writes.iter().flat_map(of).collect()
    }
}

impl<S> Inner<S> {
    fn hit(&self, boundaries: &[Boundary], moment: Moment) -> Option<Fault> {
        let fault = self.fault?;
        let point = fault.point;
        if point.moment != moment || !boundaries.contains(&point.boundary) {
            return None;
        }
        let passing = self.passed.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        (passing == fault.passing).then_some(fault)
    }

    fn die_soon(&self, fault: Fault) {
        let later = self.later;
        thread::spawn(move || {
            thread::sleep(later);
            die(fault)
        });
    }

    fn was_held(&self, record: RecordId) -> Option<Timestamp> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).get(&record).copied()
    }

    fn has_read(&self, head: &Head) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        match head.lease.held {
            Some((_, until)) => held.insert(head.record, until),
            None => held.remove(&head.record),
        };
    }
}

/// Ends this process as the system's out-of-memory killer would.
fn die(fault: Fault) -> ! {
    Said::Dies { point: fault.point }.say();
    loop {
        // Not back before the process is gone.
        let _ = kill(Pid::this(), Signal::SIGKILL);
        thread::park();
    }
}

impl<S: Store> Store for Faults<S> {
    fn enqueue(&self, new: New) -> Reply<Enqueued> {
        let inner = Arc::clone(&self.0);
        self.write(
            &Boundary::of_new(&new),
            |store| store.enqueue(new),
            move |enqueued| match enqueued {
                Enqueued::New(head) => vec![Said::Kept(Kept::of(head))],
                Enqueued::Existing(record) => {
                    inner.has_read(record.head());
                    Vec::new()
                }
            },
        )
    }

    fn commit(&self, writes: Vec<Write>) -> Reply<Vec<Result<Head, Refused>>> {
        self.write(
            &self.boundaries_of(&writes),
            |store| store.commit(writes),
            |heads| heads.iter().flatten().map(|head| Said::Kept(Kept::of(head))).collect(),
        )
    }

    /// Never acknowledged: there is no `after`.
    fn post(&self, write: Write) {
        let boundaries = self.boundaries_of(std::slice::from_ref(&write));
        if let Some(fault) = self.0.hit(&boundaries, Moment::Before) {
            die(fault);
        }
        self.0.store.post(write);
        if let Some(fault) = self.0.hit(&boundaries, Moment::During) {
            self.0.die_soon(fault);
        }
    }

    fn claim(&self, due: Due) -> Reply<Vec<Claimed>> {
        self.write(
            &[Boundary::Claim],
            |store| store.claim(due),
            |claimed| claimed.iter().map(|claimed| Said::Kept(Kept::of(&claimed.head))).collect(),
        )
    }

    fn reclaim(&self, limit: usize) -> Reply<Vec<Head>> {
        self.write(
            &[Boundary::Reclaim],
            |store| store.reclaim(limit),
            |heads| heads.iter().map(|head| Said::Kept(Kept::of(head))).collect(),
        )
    }

    fn find(&self, operation: OperationId) -> Reply<Option<Record>> {
        let (inner, reply) = (Arc::clone(&self.0), self.0.store.find(operation));
        Box::pin(async move {
            let record = reply.await?;
            if let Some(record) = &record {
                inner.has_read(record.head());
            }
            Ok(record)
        })
    }

    fn read(&self, record: RecordId) -> Reply<Option<Record>> {
        self.0.store.read(record)
    }

    fn list(&self, list: List) -> Reply<Vec<Head>> {
        self.0.store.list(list)
    }

    fn freed(&self, record: RecordId) -> Reply<()> {
        self.0.store.freed(record)
    }

    fn retain(&self, limit: usize) -> Reply<usize> {
        self.write(
            &[Boundary::Retain],
            |store| store.retain(limit),
            |removed| match *removed {
                0 => Vec::new(),
                removed => vec![Said::Removed { removed }],
            },
        )
    }

    fn limits(&self) -> Limits {
        self.0.store.limits()
    }
}

impl<S> fmt::Debug for Faults<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Faults").field("fault", &self.0.fault).finish_non_exhaustive()
    }
}
