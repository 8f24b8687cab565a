//! What cannot be kept, and stores that fail.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use retry_core::record::{Change, Head, New, Phase, Record, RecordError, RecordId, Refused};
use retry_core::store::{
    Claimed, Due, Enqueued, Limits, List, MemoryStore, Reply, Store, StoreError, Write,
};
use retry_core::{Backoff, OperationId, PolicyError, Retrier, Safety, StopReason};
use retry_core_tests::block_on;

use crate::service::{BUSY, Failed, POLICY, SECOND, World};

#[test]
fn without_a_store_nothing_runs() {
    let world = World::new();
    let mut service = world.service();
    service.retrier = Retrier::builder().clock(world.clock.clone()).build();
    let stopped = service.run(&[Ok(7)]).unwrap_err();
    assert_eq!(stopped.reason(), StopReason::InvalidPolicy);
    assert_eq!(stopped.stop().policy_error(), Some(PolicyError::NoStore));
    assert!(service.ran().is_empty());
}

#[test]
fn a_backoff_by_a_function_is_refused_before_anything_is_kept() {
    let world = World::new();
    let policy = POLICY.backoff(Backoff::custom(|n| n * SECOND));
    let service = world.service().of(policy, Safety::Keyed);
    let stopped = service.run(&[Ok(7)]).unwrap_err();
    assert_eq!(stopped.stop().policy_error(), Some(PolicyError::CustomBackoff));
    assert!(service.ran().is_empty() && world.heads().is_empty());
}

#[test]
fn arguments_over_the_limit_are_refused_before_anything_runs() {
    let world = World::new();
    let service = world.service_with(|retrier| {
        let limits = Limits { arguments: 11, ..Limits::default() };
        retrier.store(Faulty { limits, ..Faulty::over(&world) })
    });
    let call = |amount| service.call(amount, |_| async { Ok::<u32, Failed>(7) });
    assert_eq!(
        block_on(&world.clock, call(10)).unwrap_err().stop().store_error(),
        Some(&StoreError::TooLarge { what: "the arguments", bytes: 13, limit: 11 })
    );
    assert!(world.heads().is_empty() && service.ran().is_empty());
}

#[test]
fn a_result_that_cannot_be_kept_goes_to_a_person() {
    let world = World::new();
    let service = world.service();
    let call = service.call(5, |_| async {
        // Keys of an object are text.
        Ok::<_, Failed>(BTreeMap::from([((1, 2), 3)]))
    });
    let stopped = block_on(&world.clock, call).unwrap_err();
    assert_eq!(stopped.reason(), StopReason::ManualReview);
    assert_eq!(
        stopped.stop().to_string(),
        "the attempt succeeded, and its result cannot be kept: \
         the result cannot be kept as JSON: key must be a string"
    );
    assert_eq!(world.phase(), Phase::Review);
    assert_eq!(world.attempts(), [(1, Some("succeeded"))]);
}

#[test]
fn a_result_that_does_not_read_back_goes_to_a_person() {
    let world = World::new();
    let call = world.service();
    let call = call.call(5, |_| async { Ok::<_, Failed>(f64::NAN) });
    let stopped = block_on(&world.clock, call).unwrap_err();
    assert_eq!(stopped.reason(), StopReason::ManualReview);
    assert!(stopped.stop().to_string().contains("it does not read back"), "{stopped}");
}

#[test]
fn a_float_is_answered_to_the_last_bit() {
    for float in [963_594.860_199_999_9_f64, 0.1 + 0.2, f64::MIN_POSITIVE, 5e-324] {
        let world = World::new();
        for _ in 0..2 {
            let service = world.service();
            let call = service.call(5, |_| async move { Ok::<_, Failed>(float) });
            assert_eq!(block_on(&world.clock, call).unwrap().to_bits(), float.to_bits());
        }
    }
}

#[test]
fn a_result_of_another_type_is_an_error_and_stays() {
    let world = World::new();
    assert_eq!(world.service().run(&[Ok(7)]).unwrap(), 7);
    let before = world.record();
    let service = world.service();
    let call = service.call(5, |_| async { Ok::<String, Failed>(String::new()) });
    let stopped = block_on(&world.clock, call).unwrap_err();
    assert_eq!(stopped.reason(), StopReason::StoreFailed);
    let error = stopped.stop().store_error();
    assert!(
        matches!(error, Some(StoreError::Record(RecordError::OtherResult { why, .. })) if why.contains("expected a string")),
        "{error:?}"
    );
    assert!(service.ran().is_empty());
    assert_eq!(world.record(), before);
}

/// What a body has come to is known to the loop alone, so it is written again.
#[test]
fn an_outcome_that_finds_no_room_is_written_again() {
    for fails_at in [2, 4, 6] {
        let world = World::new();
        let faulty = Faulty::over(&world);
        faulty.fails_at.store(fails_at, Ordering::SeqCst);
        let service = world.service_with(|retrier| retrier.store(faulty.clone()));
        assert_eq!(service.run(&[Err(BUSY), Err(BUSY), Ok(7)]).unwrap(), 7);
        assert_eq!(service.ran(), [1, 2, 3]);
        assert_eq!(world.phase(), Phase::Done);
    }
}

/// Fails from one write on: nothing that was not kept is acted on, and the same
/// call goes on afterwards.
#[test]
fn a_store_that_fails_from_any_write_on_loses_nothing() {
    for fails_at in 1..=6 {
        let world = World::new();
        let faulty = Faulty::over(&world);
        faulty.fails_at.store(fails_at, Ordering::SeqCst);
        faulty.fails_on.store(true, Ordering::SeqCst);
        let service = world.service_with(|retrier| retrier.store(faulty.clone()));
        let stopped = service.run(&[Err(BUSY), Err(BUSY), Ok(7)]).unwrap_err();
        assert_eq!(stopped.reason(), StopReason::StoreFailed, "write {fails_at}");
        assert!(matches!(stopped.stop().store_error(), Some(StoreError::Full { .. })));
        let polled = service.ran();
        // Writes: enqueue, retry, start, retry, start, result.
        assert_eq!(polled.len(), fails_at as usize / 2, "write {fails_at}");

        world.clock.advance(31 * SECOND);
        let again = world.service();
        let result = block_on(
            &world.clock,
            again.call(
                5,
                |attempt| async move { if attempt.number() < 3 { Err(BUSY) } else { Ok(7) } },
            ),
        );
        assert_eq!(result.unwrap(), 7);
        let numbers: Vec<_> = polled.into_iter().chain(again.ran()).collect();
        assert!(numbers.is_sorted_by(|one, other| one < other), "{numbers:?}");
        assert_eq!(world.phase(), Phase::Done);
    }
}

/// A store that can fail.
#[derive(Clone)]
struct Faulty {
    store: MemoryStore,
    limits: Limits,
    /// Which write fails, from 1; 0: none.
    fails_at: Arc<AtomicU32>,
    /// And each one after it.
    fails_on: Arc<AtomicBool>,
    writes: Arc<AtomicU32>,
    has_failed: Arc<AtomicBool>,
}

impl Faulty {
    fn over(world: &World) -> Self {
        Self {
            store: world.store.clone(),
            limits: Limits::default(),
            fails_at: Arc::default(),
            fails_on: Arc::default(),
            writes: Arc::default(),
            has_failed: Arc::default(),
        }
    }

    fn check(&self) -> Result<(), StoreError> {
        let write = self.writes.fetch_add(1, Ordering::SeqCst) + 1;
        let (fails_at, fails_on) =
            (self.fails_at.load(Ordering::SeqCst), self.fails_on.load(Ordering::SeqCst));
        if fails_at > 0 && (write == fails_at || fails_on && write > fails_at) {
            self.has_failed.store(true, Ordering::SeqCst);
            return Err(StoreError::Full { store: "memory".to_owned() });
        }
        Ok(())
    }
}

impl Store for Faulty {
    fn enqueue(&self, new: New) -> Reply<Enqueued> {
        match self.check() {
            Ok(()) => self.store.enqueue(new),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }
    fn commit(&self, writes: Vec<Write>) -> Reply<Vec<Result<Head, Refused>>> {
        if writes.iter().all(|write| matches!(write.change, Change::Heartbeat { .. })) {
            return self.store.commit(writes);
        }
        match self.check() {
            Ok(()) => self.store.commit(writes),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }
    fn post(&self, write: Write) {
        // Whoever has failed once is out of room.
        if !self.has_failed.load(Ordering::SeqCst) {
            self.store.post(write);
        }
    }
    fn claim(&self, due: Due) -> Reply<Vec<Claimed>> {
        self.store.claim(due)
    }
    fn reclaim(&self, limit: usize) -> Reply<Vec<Head>> {
        self.store.reclaim(limit)
    }
    fn find(&self, operation: OperationId) -> Reply<Option<Record>> {
        self.store.find(operation)
    }
    fn read(&self, record: RecordId) -> Reply<Option<Record>> {
        self.store.read(record)
    }
    fn list(&self, list: List) -> Reply<Vec<Head>> {
        self.store.list(list)
    }
    fn freed(&self, record: RecordId) -> Reply<()> {
        self.store.freed(record)
    }
    fn retain(&self, limit: usize) -> Reply<usize> {
        self.store.retain(limit)
    }
    fn limits(&self) -> Limits {
        self.limits
    }
}
