//! A caller that goes away, at every point where it can.

use std::pin::{Pin, pin};
use std::task::Poll;

use retry_core::record::{Head, New, Phase, Record, RecordId, Refused};
use retry_core::store::{Claimed, Due, Enqueued, List, Reply, Store, Write};
use retry_core::{OperationId, Safety, StopReason};
use retry_core_tests::turn;

use crate::service::{BUSY, Failed, POLICY, SECOND, Service, World, poll};

/// A store whose answers take a turn of the executor each.
struct Slow<S>(S);

fn late<T: Send + 'static>(mut reply: Reply<T>) -> Reply<T> {
    Box::pin(async move {
        turn().await;
        std::future::poll_fn(move |cx| reply.as_mut().poll(cx)).await
    })
}

impl<S: Store> Store for Slow<S> {
    fn enqueue(&self, new: New) -> Reply<Enqueued> {
        late(self.0.enqueue(new))
    }
    fn commit(&self, writes: Vec<Write>) -> Reply<Vec<Result<Head, Refused>>> {
        late(self.0.commit(writes))
    }
    fn post(&self, write: Write) {
        self.0.post(write);
    }
    fn claim(&self, due: Due) -> Reply<Vec<Claimed>> {
        late(self.0.claim(due))
    }
    fn reclaim(&self, limit: usize) -> Reply<Vec<Head>> {
        late(self.0.reclaim(limit))
    }
    fn find(&self, operation: OperationId) -> Reply<Option<Record>> {
        late(self.0.find(operation))
    }
    fn read(&self, record: RecordId) -> Reply<Option<Record>> {
        late(self.0.read(record))
    }
    fn list(&self, list: List) -> Reply<Vec<Head>> {
        late(self.0.list(list))
    }
    fn freed(&self, record: RecordId) -> Reply<()> {
        late(self.0.freed(record))
    }
    fn retain(&self, limit: usize) -> Reply<usize> {
        late(self.0.retain(limit))
    }
}

pub(crate) fn slow(world: &World) -> Service {
    let store = world.store.clone();
    world.service_with(|retrier| retrier.store(Slow(store)))
}

/// A body with a few awaits, which fails, fails, and succeeds.
async fn charge(service: &Service) -> Result<u32, retry_core::Stopped<Failed>> {
    service
        .call(5, |attempt| async move {
            turn().await;
            turn().await;
            if attempt.number() < 3 { Err(BUSY) } else { Ok(7) }
        })
        .await
}

#[test]
fn a_drop_at_every_await_loses_nothing_and_uses_no_number_twice() {
    let mut ended = 0;
    let mut seen = std::collections::BTreeSet::new();
    for polls in 0.. {
        let world = World::new();
        let service = slow(&world);
        let mut call = Box::pin(charge(&service));
        if poll(&world.clock, call.as_mut(), polls).is_some() {
            ended += 1;
            if ended > 1 {
                break;
            }
            continue;
        }
        drop(call);
        let polled = service.ran();
        if let Some(head) = world.heads().first() {
            assert_eq!(head.lease.held, None, "after {polls} polls");
            let attempts = world.attempts();
            // What was polled is charged; what was not is given back.
            let charged: Vec<_> =
                attempts.iter().filter(|(_, ended)| ended.is_some()).map(|(n, _)| *n).collect();
            let done = head.phase == Phase::Done;
            assert_eq!(charged, polled, "after {polls} polls: {attempts:?} {done}");
            seen.extend(attempts.iter().map(|(_, ended)| ended.unwrap_or("released")));
        } else {
            assert!(polled.is_empty());
        }

        // The same call goes on, without waiting for a lease.
        let again = slow(&world);
        let before = world.clock.elapsed();
        let result = retry_core_tests::block_on(&world.clock, charge(&again)).unwrap();
        assert_eq!(result, 7);
        assert!(world.clock.elapsed() - before <= 20 * SECOND);
        let numbers: Vec<_> = polled.into_iter().chain(again.ran()).collect();
        let mut sorted = numbers.clone();
        sorted.dedup();
        assert_eq!(numbers, sorted, "no number twice, after {polls} polls");
        assert!(numbers.is_sorted());
        assert!(world.record().head().attempts() <= 4);
        assert_eq!(world.phase(), Phase::Done);
    }
    assert_eq!(
        seen.into_iter().collect::<Vec<_>>(),
        ["dropped", "failed", "released", "succeeded"]
    );
}

#[test]
fn an_attempt_that_was_given_back_does_not_count() {
    let world = World::new();
    // Found, asked for, charged, and not polled: for as often as anybody likes.
    for released in 1..=10 {
        let service = slow(&world);
        let mut call = Box::pin(charge(&service));
        let mut polls = 0;
        while world.heads().first().is_none_or(|head| head.started < released) {
            assert!(poll(&world.clock, call.as_mut(), 1).is_none());
            polls += 1;
            assert!(polls < 100);
        }
        assert!(service.ran().is_empty());
        drop(call);
        let head = world.record().head().clone();
        assert_eq!((head.started, head.released, head.attempts()), (released, released, 0));
    }
    let service = slow(&world);
    let last = std::cell::Cell::new(None);
    let call = service.call(5, |attempt| {
        last.set(Some((attempt.number(), attempt.is_last())));
        async { Err::<u32, _>(BUSY) }
    });
    let stopped = retry_core_tests::block_on(&world.clock, call).unwrap_err();
    assert_eq!(service.ran(), [11, 12, 13, 14]);
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::AttemptsExhausted, 4));
    assert_eq!(last.get(), Some((14, true)));
}

#[test]
fn what_runs_at_most_once_goes_to_a_person_when_its_caller_goes_away() {
    let world = World::new();
    let service = slow(&world).of(POLICY, Safety::AtMostOnce);
    let mut call = Box::pin(charge(&service));
    while service.ran().is_empty() {
        assert!(poll(&world.clock, call.as_mut(), 1).is_none());
    }
    drop(call);
    assert_eq!(world.phase(), Phase::Review);
    assert_eq!(world.attempts(), [(1, Some("dropped"))]);
}

#[test]
fn a_panic_is_a_failed_attempt() {
    let world = World::new();
    let service = world.service();
    let call = service.call(5, |attempt| async move {
        assert!(attempt.number() > 1, "on purpose");
        Ok::<u32, Failed>(7)
    });
    let mut call = Box::pin(call);
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        poll(&world.clock, call.as_mut(), 10);
        drop(call);
    }));
    assert!(panicked.is_err());
    assert_eq!(world.attempts(), [(1, Some("panicked"))]);
    assert_eq!(world.service().run(&[Ok(7)]).unwrap(), 7);
    assert_eq!(world.attempts(), [(1, Some("panicked")), (2, Some("succeeded"))]);
}

#[test]
fn attached_calls_take_over_from_a_caller_that_goes_away() {
    let world = World::new();
    let (running, attached) = (world.service(), world.service().spec(|spec| spec.attach()));
    let mut first = Box::pin(running.call(5, |_| std::future::pending::<Result<u32, Failed>>()));
    while running.ran().is_empty() {
        assert!(poll(&world.clock, first.as_mut(), 1).is_none());
    }
    let mut first = Some(first);
    let mut second = pin!(attached.outcomes(&[Ok(2)]));
    let (mut polls, mut dropped) = (0, world.clock.elapsed());
    let both = std::future::poll_fn(|cx| {
        polls += 1;
        if polls == 5 {
            first = None;
            dropped = world.clock.elapsed();
        }
        match Pin::new(&mut second).poll(cx) {
            Poll::Pending if polls < 6 => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            other => other,
        }
    });
    assert_eq!(retry_core_tests::block_on(&world.clock, both).unwrap(), 2);
    assert_eq!(attached.ran(), [2]);
    assert_eq!(world.clock.elapsed(), dropped + 10 * SECOND, "and does not wait for a lease");
}
