//! What is recorded beside what the gateway's book says and what customers were
//! told, order by order.

use std::collections::{BTreeMap, HashMap};

use retry_core::record::{Difference, Ended, Event, Phase, Record, StopText};
use retry_examples::gateway::Statement;

use crate::service::{MAX_ATTEMPTS, Order};
use crate::worker::Answer;

/// The result of comparing.
#[derive(Debug)]
pub(crate) struct Audit {
    /// One an order.
    pub(crate) orders: Vec<Audited>,
    /// Orders in the book that nobody placed.
    pub(crate) strangers: usize,
    /// Decisions that were made again from the records.
    pub(crate) decisions: usize,
    /// Those that came out otherwise.
    pub(crate) differences: Vec<Difference>,
}

/// One order.
#[derive(Debug, Default)]
pub(crate) struct Audited {
    pub(crate) order: String,
    /// How often it was charged, by the book.
    pub(crate) charges: usize,
    /// Calls that came with a number not above those of all before.
    pub(crate) regressions: usize,
    /// Whether it was tried more often than its policy allows.
    pub(crate) is_over_policy: bool,
    /// What the book has, and the record does not explain; or the reverse.
    pub(crate) unexplained: Option<&'static str>,
    /// What is recorded, if anything is.
    pub(crate) record: Option<Recorded>,
}

/// A record, as far as it is compared.
#[derive(Debug)]
pub(crate) struct Recorded {
    /// The operation's id.
    pub(crate) operation: String,
    pub(crate) phase: Phase,
    pub(crate) stop: Option<StopText>,
    pub(crate) last_error: Option<String>,
    pub(crate) attempts: u32,
    /// How often its process was killed, and how often of these in an attempt.
    pub(crate) losses: usize,
    pub(crate) crashes: usize,
    max_attempts: u32,
    /// The numbers that were charged before their attempt ran.
    started: Vec<u32>,
}

impl Audit {
    /// Compares the orders from 1 to this one.
    pub(crate) fn of(
        orders: u32,
        book: &[Statement],
        records: &[Record],
        answers: &BTreeMap<u32, Answer>,
    ) -> Self {
        let mut by_key: HashMap<_, _> = records
            .iter()
            .filter_map(|record| {
                let key = record.head().operation.key()?;
                Some((key.to_string(), Recorded::of(record)))
            })
            .collect();
        let mut by_order: HashMap<_, Vec<&Statement>> = HashMap::new();
        for statement in book {
            by_order.entry(statement.order.as_str()).or_default().push(statement);
        }
        let orders = (1..=orders).map(|number| {
            let order = Order::number(number);
            let key = order.key();
            let statements = by_order.remove(order.id.as_str()).unwrap_or_default();
            let record = key.and_then(|key| by_key.remove(&key.to_string()));
            Audited::of(order.id, &statements, record, answers.get(&number))
        });
        let orders = orders.collect();
        let (replayed, differences): (Vec<_>, Vec<_>) =
            records.iter().map(Record::replay).partition(Result::is_ok);
        Self {
            orders,
            strangers: by_order.len(),
            decisions: replayed.into_iter().flatten().map(|replayed| replayed.decisions).sum(),
            differences: differences.into_iter().filter_map(Result::err).collect(),
        }
    }

    /// How many orders are like that.
    pub(crate) fn count(&self, is: impl Fn(&Audited) -> bool) -> usize {
        self.orders.iter().filter(|order| is(order)).count()
    }
}

impl Audited {
    fn of(
        order: String,
        statements: &[&Statement],
        record: Option<Recorded>,
        answer: Option<&Answer>,
    ) -> Self {
        let charges = statements.iter().filter(|statement| statement.charged).count();
        let calls = |statement: &&Statement| statement.attempts.len();
        let calls: usize = statements.iter().map(calls).sum();
        let max_attempts = record.as_ref().map_or(MAX_ATTEMPTS, |record| record.max_attempts);
        let attempts = record.as_ref().map_or(0, |record| record.attempts);
        Self {
            order,
            charges,
            regressions: statements.iter().map(|it| regressions(&it.attempts)).sum(),
            is_over_policy: attempts > max_attempts || calls > max_attempts as usize,
            unexplained: unexplained(charges, statements, record.as_ref(), answer),
            record,
        }
    }

    /// Where the operation stands, if it is recorded.
    pub(crate) fn phase(&self) -> Option<Phase> {
        self.record.as_ref().map(|record| record.phase)
    }
}

/// Calls whose number is not above all before.
fn regressions(attempts: &[Option<u32>]) -> usize {
    let mut highest = 0;
    let went_back = |attempt: &&Option<u32>| match attempt {
        Some(number) if *number > highest => {
            highest = *number;
            false
        }
        _ => true,
    };
    attempts.iter().filter(went_back).count()
}

fn unexplained(
    charges: usize,
    statements: &[&Statement],
    record: Option<&Recorded>,
    answer: Option<&Answer>,
) -> Option<&'static str> {
    let Some(record) = record else {
        return Some("nothing is recorded");
    };
    let mut called = statements.iter().flat_map(|statement| &statement.attempts).flatten();
    let told = answer.map(|answer| answer.stopped.as_deref());
    let recorded = match (record.phase, &record.stop) {
        (Phase::Done, _) if charges == 0 => return Some("done, and not charged"),
        (Phase::Done, _) => None,
        (_, Some(stop)) => Some(stop.reason.code()),
        (_, None) => return Some("neither done nor stopped"),
    };
    if !called.all(|number| record.started.contains(number)) {
        return Some("an attempt was made that is not recorded");
    }
    (told != Some(recorded)).then_some("the customer was told otherwise")
}

impl Recorded {
    fn of(record: &Record) -> Self {
        let head = record.head();
        let events = || record.entries().iter().map(|entry| entry.event());
        let is_crash =
            |event: &&Event| matches!(event, Event::AttemptFinished { ended: Ended::Crashed, .. });
        let started = |event: &Event| match event {
            Event::AttemptStarted { attempt, .. } => Some(*attempt),
            _ => None,
        };
        Self {
            operation: head.operation.to_string(),
            phase: head.phase,
            stop: head.stop.clone(),
            last_error: head.last_error.clone(),
            attempts: head.attempts(),
            losses: events().filter(|event| matches!(event, Event::LeaseLost { .. })).count(),
            crashes: events().filter(is_crash).count(),
            max_attempts: head.policy.get_max_attempts(),
            started: events().filter_map(started).collect(),
        }
    }
}

#[cfg(test)]
mod tests;
