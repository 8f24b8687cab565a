//! Stores that break one promise each, and the case that finds it.

use std::future::ready;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::CASES;
use super::subject::block_on;
use crate::clock::VirtualClock;
use crate::operation_id::OperationId;
use crate::record::{Change, Fence, Head, Lease, New, Record, RecordId, Refused};
use crate::store::{Claimed, Due, Enqueued, List, MemoryStore, Reply, Store, Write};

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    KeyIsNotUnique,
    NothingExpires,
    ClaimTakesOneMore,
    ClaimTakesTheLatest,
    ClaimGivesEachTwice,
    ClaimLastsTooLong,
    FenceIsNotChecked,
    EpochIsNotChecked,
    HolderIsNotChecked,
    RefusalHoldsBack,
    AnswersAreTurned,
    PostIsLost,
    ReclaimTakesTheLatest,
    FreedAtOnce,
    RetainTakesOneMore,
    ListIsTurned,
    ListHasEveryName,
    ListHasOnePage,
    FindKnowsNoKey,
}

/// The memory store, with one fault.
struct Faulty {
    memory: MemoryStore,
    fault: Fault,
}

impl Faulty {
    const fn has(&self, fault: Fault) -> bool {
        self.fault as u8 == fault as u8
    }

    fn lease(&self, record: RecordId) -> Option<Lease> {
        let record = block_on("`read`", self.memory.read(record)).unwrap();
        record.map(|record| record.head().lease)
    }

    /// Makes true whatever is not checked.
    fn forge(&self, write: &mut Write) {
        let Some(Lease { epoch, held: Some((holder, _)) }) = self.lease(write.record) else {
            return;
        };
        let (Change::Append { fence, .. }
        | Change::Heartbeat { fence, .. }
        | Change::Abandon { fence, .. }) = &mut write.change
        else {
            return;
        };
        *fence = match self.fault {
            Fault::FenceIsNotChecked => Fence { epoch, holder },
            Fault::EpochIsNotChecked => Fence { epoch, ..*fence },
            Fault::HolderIsNotChecked => Fence { holder, ..*fence },
            _ => *fence,
        };
    }

    /// An answer of the memory store, which is there at once, with this fault.
    fn with<T: Send + 'static>(
        &self,
        fault: Fault,
        reply: Reply<T>,
        spoil: impl FnOnce(&mut T),
    ) -> Reply<T> {
        if !self.has(fault) {
            return reply;
        }
        let mut answer = block_on("the memory store", reply);
        if let Ok(answer) = &mut answer {
            spoil(answer);
        }
        Box::pin(ready(answer))
    }
}

impl Store for Faulty {
    fn enqueue(&self, mut new: New) -> Reply<Enqueued> {
        if self.has(Fault::KeyIsNotUnique) {
            new.operation = OperationId::from(new.record.to_string());
        }
        if self.has(Fault::NothingExpires) {
            new.keep = Duration::MAX;
        }
        self.memory.enqueue(new)
    }

    fn commit(&self, mut writes: Vec<Write>) -> Reply<Vec<Result<Head, Refused>>> {
        writes.iter_mut().for_each(|write| self.forge(write));
        if self.has(Fault::RefusalHoldsBack) {
            let mut answers = Vec::new();
            for write in writes {
                let refused = answers.last().is_some_and(Result::is_err);
                let reply = self.memory.commit(if refused { Vec::new() } else { vec![write] });
                let answer = block_on("`commit`", reply).unwrap().pop();
                answers.push(answer.unwrap_or(Err(Refused::Fenced)));
            }
            return Box::pin(ready(Ok(answers)));
        }
        self.with(Fault::AnswersAreTurned, self.memory.commit(writes), |answers| answers.reverse())
    }

    fn post(&self, write: Write) {
        if !self.has(Fault::PostIsLost) {
            drop(self.commit(vec![write]));
        }
    }

    fn claim(&self, mut due: Due) -> Reply<Vec<Claimed>> {
        if self.has(Fault::ClaimTakesOneMore) {
            due.limit += 1;
        }
        if self.has(Fault::ClaimLastsTooLong) {
            due.lease *= 2;
        }
        let claimed = self.memory.claim(due);
        let claimed = self.with(Fault::ClaimGivesEachTwice, claimed, |claimed| {
            claimed.extend(claimed.clone());
        });
        self.with(Fault::ClaimTakesTheLatest, claimed, |claimed| claimed.reverse())
    }

    fn reclaim(&self, limit: usize) -> Reply<Vec<Head>> {
        let heads = self.memory.reclaim(limit);
        self.with(Fault::ReclaimTakesTheLatest, heads, |heads| heads.reverse())
    }

    fn find(&self, operation: OperationId) -> Reply<Option<Record>> {
        self.with(Fault::FindKnowsNoKey, self.memory.find(operation), |found| *found = None)
    }

    fn read(&self, record: RecordId) -> Reply<Option<Record>> {
        self.memory.read(record)
    }

    fn list(&self, mut list: List) -> Reply<Vec<Head>> {
        if self.has(Fault::ListHasEveryName) {
            list.name = None;
        }
        if self.has(Fault::ListHasOnePage) {
            list.before = None;
        }
        self.with(Fault::ListIsTurned, self.memory.list(list), |heads| heads.reverse())
    }

    fn freed(&self, record: RecordId) -> Reply<()> {
        if self.has(Fault::FreedAtOnce) {
            return Box::pin(ready(Ok(())));
        }
        self.memory.freed(record)
    }

    fn retain(&self, limit: usize) -> Reply<usize> {
        self.memory.retain(limit + usize::from(self.has(Fault::RetainTakesOneMore)))
    }
}

#[test]
fn every_fault_is_found_by_the_case_about_it() {
    for (fault, expected) in [
        (Fault::KeyIsNotUnique, "enqueue::a_key_begins_one_operation"),
        (Fault::KeyIsNotUnique, "enqueue::calls_at_once_begin_one_operation"),
        (Fault::NothingExpires, "enqueue::what_has_ended_expires"),
        (Fault::ClaimTakesOneMore, "claim::as_many_as_asked"),
        (Fault::ClaimTakesTheLatest, "claim::what_is_due_the_earliest_first"),
        (Fault::ClaimGivesEachTwice, "claim::each_once"),
        (Fault::ClaimLastsTooLong, "claim::the_attempt_is_charged"),
        (Fault::FenceIsNotChecked, "fence::a_stale_epoch"),
        (Fault::EpochIsNotChecked, "fence::a_claim_of_the_same_holder_before"),
        (Fault::HolderIsNotChecked, "fence::a_stale_holder_of_this_epoch"),
        (Fault::RefusalHoldsBack, "order::a_refusal_holds_nothing_back"),
        (Fault::AnswersAreTurned, "order::answers_in_order"),
        (Fault::PostIsLost, "order::a_post_is_behind"),
        (Fault::ReclaimTakesTheLatest, "lease::reclaims_the_earliest_first"),
        (Fault::FreedAtOnce, "freed::when_the_lease_ends"),
        (Fault::FreedAtOnce, "freed::not_before_an_extended_lease"),
        (Fault::RetainTakesOneMore, "retain::as_many_as_asked_for"),
        (Fault::ListIsTurned, "read::lists_the_latest_first"),
        (Fault::ListHasEveryName, "read::lists_what_is_asked_for"),
        (Fault::ListHasOnePage, "read::lists_in_pages"),
        (Fault::FindKnowsNoKey, "read::found_by_its_id"),
    ] {
        let case = CASES.iter().find(|case| case.name() == expected).unwrap();
        let make = |clock: VirtualClock| Faulty { memory: MemoryStore::with_clock(clock), fault };
        let ran = catch_unwind(AssertUnwindSafe(|| case.run(make)));
        assert!(ran.is_err(), "{case} does not find that its promise is broken");
    }
}

#[test]
fn all_that_fail_are_named() {
    let make = |clock: VirtualClock| Faulty {
        memory: MemoryStore::with_clock(clock),
        fault: Fault::ListIsTurned,
    };
    let panic = catch_unwind(|| super::run(make)).unwrap_err();
    let text = super::text(&*panic);
    assert!(text.starts_with("3 of "), "{text}");
    for name in ["read::lists_the_latest_first: ", "read::lists_in_pages: ", "histories::"] {
        assert!(text.contains(&format!("\n\n{name}")), "{name} is not in: {text}");
    }
}
