//! The audit finds what it looks for.

use std::collections::HashSet;

use retry_core::record::Record;
use retry_faults::audit::Audit;
use retry_faults::{Answer, Kept, Kind, Poll, Receipt, records};

use crate::service::Service;

/// What a calm day leaves, to be changed.
struct Day {
    operations: HashSet<u32>,
    records: Vec<Record>,
    polls: Vec<Poll>,
    effects: Vec<Receipt>,
    kept: Vec<Kept>,
    answers: Vec<Answer>,
}

impl Day {
    fn of(operations: &[u32]) -> Self {
        let mut service = Service::new();
        service.settle(operations);
        Self {
            operations: operations.iter().copied().collect(),
            records: records(&service.folder.store()).unwrap(),
            polls: service.book.polls().unwrap(),
            effects: service.book.effects().unwrap(),
            kept: service.kept(),
            answers: service.answers(),
        }
    }

    fn findings(&self) -> Vec<String> {
        let audit = Audit {
            operations: &self.operations,
            records: &self.records,
            polls: &self.polls,
            effects: &self.effects,
            kept: &self.kept,
            answers: &self.answers,
            is_settled: true,
            is_stepped: false,
        };
        audit.tally().findings
    }

    fn poll(&mut self, operation: u32) -> &mut Poll {
        self.polls.iter_mut().find(|poll| poll.operation == operation).unwrap()
    }
}

#[test]
fn whatever_is_not_as_it_must_be_is_found() {
    let (charged, flaky) = (Kind::Charged.number(0), Kind::Flaky.number(0));
    let (once, left) = (Kind::Once.number(0), Kind::LeftAlone.number(1));
    let operations = [charged, flaky, once, left];
    let finds = |what: &str, change: &dyn Fn(&mut Day)| {
        let mut day = Day::of(&operations);
        assert_eq!(day.findings(), Vec::<String>::new());
        change(&mut day);
        let findings = day.findings();
        assert!(findings.iter().any(|finding| finding.contains(what)), "{what}: {findings:?}");
    };
    finds("was polled, and never charged", &|day| day.poll(charged).attempt = 7);
    finds("attempts [1, 1] were polled", &|day| {
        let again = day.poll(charged).clone();
        day.polls.push(again);
    });
    finds("were polled, in this order", &|day| day.polls.reverse());
    finds("was polled, and given back", &|day| day.poll(left).attempt = 1);
    finds("and was never polled", &|day| day.polls.retain(|poll| poll.operation != charged));
    finds("was polled 0ns later, not", &|day| {
        let first = day.poll(flaky).at;
        day.polls.iter_mut().for_each(|poll| poll.at = first);
    });
    finds("were polled, and 12 are allowed", &|day| {
        let poll = day.poll(flaky).clone();
        day.polls.extend((0..12).map(|_| poll.clone()));
    });
    finds("share a key", &|day| day.poll(charged).key = day.poll(flaky).key.clone());
    finds("took effect by attempts", &|day| {
        let mut effect = day.effects[0];
        effect.attempt += 1;
        day.effects.push(effect);
    });
    finds("took effect 2 times", &|day| {
        let again = *day.effects.iter().find(|effect| effect.operation == once).unwrap();
        day.effects.push(again);
    });
    finds("is recorded, and the book has", &|day| day.effects.clear());
    finds("was acknowledged, and is lost", &|day| {
        let last = day.kept.last_mut().unwrap();
        last.sum = last.sum.chars().rev().collect();
    });
    finds("was acknowledged, and is lost", &|day| {
        let mut more = day.kept.last().unwrap().clone();
        more.seq += 1;
        day.kept.push(more);
    });
    finds("attempts started fell from", &|day| {
        let mut before = day.kept.last().unwrap().clone();
        (before.seq, before.started) = (1, 9);
        day.kept.push(before);
    });
    finds("has no record", &|day| day.records.clear());
    finds("has two records", &|day| {
        let again = day.records[0].clone();
        day.records.push(again);
    });
    finds("nobody called", &|day| {
        day.operations.remove(&charged);
    });
    finds("a caller was told", &|day| day.answers[0].receipt = None);
}
