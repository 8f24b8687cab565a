//! Long histories, by chance and the same every time, beside the memory store.

use std::fmt::Debug;
use std::time::Duration;

use super::subject::{
    DELAY, HOUR, LEASE, QUEUE, SECOND, Subject, abandon, due, failed_with, fence, heartbeat, keyed,
    succeeded, waiting,
};
use crate::record::{Change, Ended, Event, Head, Holder, New, Phase, RecordId};
use crate::store::{Due, List, MemoryStore, Reply, Store, Write};
use crate::{Failure, Safety};

const STEPS: u32 = 400;
const KEYS: u64 = 6;

/// SplitMix64.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut drawn = self.0;
        drawn = (drawn ^ (drawn >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        drawn = (drawn ^ (drawn >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (drawn ^ (drawn >> 31)) % bound
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        let at = self.below(choices.len() as u64);
        choices[usize::try_from(at).unwrap_or(0)]
    }
}

/// The store under test and the memory store, on one clock, asked for the same.
struct Pair<'a> {
    subject: &'a Subject,
    memory: MemoryStore,
    asked: Vec<String>,
}

impl Pair<'_> {
    fn ask<T: Debug>(&mut self, what: String, ask: impl Fn(&dyn Store) -> Reply<T>) -> T {
        self.asked.push(what);
        let tested = self.subject.answer("a store", ask(self.subject.store()));
        let expected = self.subject.answer("the memory store", ask(&self.memory));
        let (tested, said) = (format!("{tested:#?}"), format!("{expected:#?}"));
        let last = self.asked.len().saturating_sub(5);
        assert!(
            tested == said,
            "a store answers as the memory store does. It was asked for:\n{}\n\nit answered {tested}\n\nand the memory store {said}",
            self.asked[last..].join("\n"),
        );
        expected
    }
}

pub(super) fn as_the_memory_store(subject: &Subject) {
    let mut chance = Chance(1);
    let memory = MemoryStore::with_clock(subject.clock().clone());
    let mut pair = Pair { subject, memory, asked: Vec::new() };
    let mut made: Vec<RecordId> = Vec::new();
    for _ in 0..STEPS {
        // No two times are equal, so that every order is one.
        let span = chance.of(&[Duration::ZERO, SECOND, DELAY, LEASE, HOUR]);
        subject.advance(span + Duration::from_nanos(1 + chance.below(1000)));
        match chance.below(12) {
            0 | 1 => {
                let new = operation(subject, &mut chance);
                made.push(new.record);
                pair.ask(format!("enqueue {new:?}"), |store| store.enqueue(new.clone()));
            }
            2 => {
                let due = Due { limit: 1 + made.len() % 3, ..due(QUEUE, 0) };
                pair.ask(format!("claim {due:?}"), |store| store.claim(due.clone()));
            }
            3 => {
                pair.ask("reclaim 2".to_owned(), |store| store.reclaim(2));
            }
            4 => {
                pair.ask("retain 2".to_owned(), |store| store.retain(2));
            }
            5 => {
                let operation = keyed("payments.charge", &chance.below(KEYS).to_string());
                let find = |store: &dyn Store| store.find(operation.clone());
                pair.ask(format!("find {operation}"), find);
            }
            6 => {
                let phase = chance.of(&[None, Some(Phase::Parked), Some(Phase::Dead)]);
                let list = List { phase, limit: 3, ..List::default() };
                pair.ask(format!("list {list:?}"), |store| store.list(list.clone()));
            }
            _ if made.is_empty() => {}
            _ => {
                let record = chance.of(&made[made.len().saturating_sub(8)..]);
                let kept = pair.ask(format!("read {record}"), |store| store.read(record));
                let Some(head) = kept.map(|kept| kept.head().clone()) else { continue };
                let writes: Vec<_> = (0..=chance.below(2))
                    .map(|_| Write { record, change: change(&head, &mut chance) })
                    .collect();
                pair.ask(format!("commit {writes:?}"), |store| store.commit(writes.clone()));
            }
        }
    }
    for record in made {
        pair.ask(format!("read {record}"), |store| store.read(record));
        subject.verified_if_there(record);
    }
}

fn operation(subject: &Subject, chance: &mut Chance) -> New {
    let key = chance.below(KEYS).to_string();
    let new = match chance.below(3) {
        0 => subject.queued(&key),
        1 => subject.running(&key),
        _ => subject.operation(&key),
    };
    New {
        safety: chance.of(&[Safety::Keyed, Safety::Keyed, Safety::AtMostOnce]),
        policy: waiting(chance.of(&[1, 2, 5]), chance.of(&[SECOND, DELAY])),
        keep: chance.of(&[SECOND, HOUR]),
        ..new
    }
}

/// Mostly what its holder would write next.
fn change(head: &Head, chance: &mut Chance) -> Change {
    let epoch = head.lease.epoch.saturating_sub(chance.of(&[0, 0, 0, 1]));
    if head.lease.held.is_none() || chance.below(8) == 0 {
        let holder = Holder::new();
        return match chance.below(4) {
            0 => Change::Reclaim { epoch },
            1 => Change::Claim { holder, lease: LEASE },
            _ => Change::TakeOver { epoch, holder, lease: LEASE },
        };
    }
    let keeps = chance.below(3) > 0;
    match (head.phase, chance.below(6)) {
        (_, 0) => heartbeat(head, chance.of(&[SECOND, LEASE, LEASE * 3])),
        (_, 1) => abandon(head, chance.of(&[None, Some(Ended::Dropped), Some(Ended::Panicked)])),
        (Phase::Running, 2) => succeeded(head, chance.of(&["1", "\"two\""])),
        (Phase::Running, _) => {
            let failure = chance.of(&[
                Failure::transient(),
                Failure::timeout(),
                Failure::transient().after(SECOND * 20),
                Failure::permanent(),
                Failure::unknown(),
            ]);
            let error = chance.of(&[None, Some("no answer"), Some("busy")]);
            let events = failed_with(head, failure, error);
            Change::Append { fence: fence(head), events, keeps, result: None }
        }
        _ => {
            let attempt = head.started + 1;
            let event = Event::AttemptStarted { attempt, elapsed: head.elapsed + SECOND };
            Change::Append { fence: fence(head), events: vec![event], keeps: true, result: None }
        }
    }
}
