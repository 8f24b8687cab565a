//! What is recorded, beside what the book says and what was acknowledged.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use retry_core::record::{Ended, Event, Phase, Record};

use crate::book::{Poll, Receipt};
use crate::said::{Answer, Kept};
use crate::script::Kind;
use crate::tally::Tally;

/// What is compared.
#[derive(Debug)]
pub struct Audit<'a> {
    /// The operations that were called.
    pub operations: &'a HashSet<u32>,
    /// All records.
    pub records: &'a [Record],
    /// All attempts whose bodies were polled, in order.
    pub polls: &'a [Poll],
    /// All that took effect.
    pub effects: &'a [Receipt],
    /// All that was acknowledged.
    pub kept: &'a [Kept],
    /// All that callers were told.
    pub answers: &'a [Answer],
    /// Whether everything was called until it was settled.
    pub is_settled: bool,
    /// Whether the calendar was stepped: then only waits by it are compared.
    pub is_stepped: bool,
}

/// Of one operation.
struct Case<'a> {
    number: u32,
    kind: Kind,
    record: &'a Record,
    polls: Vec<&'a Poll>,
    effects: Vec<Receipt>,
    started: Vec<(u32, Duration)>,
    released: HashSet<u32>,
    ended: BTreeMap<u32, Ended>,
    /// After which attempt the next one may start, and how much later.
    delays: BTreeMap<u32, (Duration, Duration)>,
    late: u64,
    findings: Vec<String>,
}

impl Audit<'_> {
    /// Counts, and everything that is not as it must be.
    pub fn tally(&self) -> Tally {
        let mut tally = Tally {
            operations: self.operations.len() as u64,
            polled: self.polls.len() as u64,
            acknowledged: self.kept.len() as u64,
            ..Tally::default()
        };
        let mut found = HashMap::new();
        for record in self.records {
            match number_of(record) {
                Some(number) => {
                    if found.insert(number, record).is_some() {
                        tally.findings.push(format!("operation {number} has two records"));
                    }
                }
                None => tally.findings.push(format!("{:?} is no order", record.head().record)),
            }
        }
        for &number in self.operations {
            match found.remove(&number) {
                Some(record) => self.case(number, record, &mut tally),
                None => self.without_a_record(number, &mut tally),
            }
        }
        let strangers = found.into_keys().map(|number| format!("nobody called {number}"));
        tally.findings.extend(strangers);
        self.acknowledged(&mut tally);
        self.keys(&mut tally);
        tally
    }

    fn case(&self, number: u32, record: &Record, tally: &mut Tally) {
        let mut case = Case::new(number, record, self);
        match record.replay() {
            Ok(replayed) => tally.decisions += replayed.decisions as u64,
            Err(difference) => case.find(difference.to_string()),
        }
        case.numbers();
        case.bounds();
        case.waits(self.is_stepped);
        case.safety();
        case.result();
        case.answers(self.answers);
        let phase = record.head().phase;
        if self.is_settled && !case.kind.may_end(phase) {
            case.find(format!("{:?} ended {phase}", case.kind));
        }
        match phase {
            Phase::Done => tally.done += 1,
            Phase::Dead => tally.dead += 1,
            Phase::Review => tally.review += 1,
            _ => {}
        }
        tally.late += case.late;
        tally.released += case.released.len() as u64;
        tally.crashed +=
            case.ended.values().filter(|ended| **ended == Ended::Crashed).count() as u64;
        tally.findings.extend(case.findings);
    }

    /// Only what is done is removed, and so has taken effect.
    fn without_a_record(&self, number: u32, tally: &mut Tally) {
        let took_effect = self.effects.iter().any(|effect| effect.operation == number);
        if Kind::of(number) == Kind::Forgotten && took_effect {
            tally.removed += 1;
        } else {
            tally.findings.push(format!("operation {number} has no record"));
        }
    }

    /// What was acknowledged is there: each checksum is over everything before it.
    fn acknowledged(&self, tally: &mut Tally) {
        let mut sums = HashMap::new();
        for record in self.records {
            let id = record.head().record.to_string();
            sums.insert(id, record.entries().iter().map(|entry| entry.sum()).collect::<Vec<_>>());
        }
        let mut last: HashMap<&str, Vec<&Kept>> = HashMap::new();
        for kept in self.kept {
            last.entry(&kept.record).or_default().push(kept);
            // Removed, which is looked at elsewhere.
            let Some(sums) = sums.get(&kept.record) else { continue };
            let sum = (kept.seq as usize).checked_sub(1).and_then(|place| sums.get(place));
            if sum.is_none_or(|sum| sum.to_string() != kept.sum) {
                let Kept { record, seq, .. } = kept;
                tally
                    .findings
                    .push(format!("entry {seq} of {record} was acknowledged, and is lost"));
            }
        }
        for (record, mut kept) in last {
            kept.sort_by_key(|kept| (kept.seq, kept.epoch));
            for pair in kept.windows(2) {
                if let Some(what) = fallen(pair[0], pair[1]) {
                    tally.findings.push(format!("{record} was acknowledged twice: {what}"));
                }
            }
        }
    }

    /// Each operation has one key, and each key one operation and one effect.
    fn keys(&self, tally: &mut Tally) {
        let mut keys: HashMap<&str, u32> = HashMap::new();
        for poll in self.polls {
            if let Some(key) = &poll.key {
                let first = *keys.entry(key).or_insert(poll.operation);
                if first != poll.operation {
                    let other = poll.operation;
                    tally.findings.push(format!("operations {first} and {other} share a key"));
                }
            }
        }
        let mut once = HashMap::new();
        for effect in self.effects {
            if let Some(first) = once.insert(effect.operation, effect.attempt) {
                tally.findings.push(format!(
                    "operation {} took effect by attempts {first} and {}",
                    effect.operation, effect.attempt
                ));
            }
        }
    }
}

impl<'a> Case<'a> {
    fn new(number: u32, record: &'a Record, audit: &Audit<'a>) -> Self {
        let polls = audit.polls.iter().filter(|poll| poll.operation == number).collect();
        let effects = audit.effects.iter().filter(|effect| effect.operation == number);
        let mut case = Self {
            number,
            kind: Kind::of(number),
            record,
            polls,
            effects: effects.copied().collect(),
            started: Vec::new(),
            released: HashSet::new(),
            ended: BTreeMap::new(),
            delays: BTreeMap::new(),
            late: 0,
            findings: Vec::new(),
        };
        for entry in record.entries() {
            match entry.event() {
                Event::AttemptStarted { attempt, elapsed } => {
                    case.started.push((*attempt, *elapsed));
                }
                // The fold lets none finish twice.
                Event::AttemptFinished { attempt, ended, .. } => {
                    case.ended.insert(*attempt, *ended);
                }
                Event::Released { attempt } => {
                    case.released.insert(*attempt);
                }
                Event::DelayChosen(chosen) => {
                    case.delays.insert(chosen.attempt, (chosen.start, chosen.delay));
                }
                _ => {}
            }
        }
        case
    }

    fn find(&mut self, what: String) {
        self.findings.push(format!("operation {} ({:?}): {what}", self.number, self.kind));
    }

    /// No number is used twice, no polled attempt is given back, and none runs that
    /// is not charged.
    fn numbers(&mut self) {
        let started: Vec<u32> = self.started.iter().map(|(attempt, _)| *attempt).collect();
        if !started.iter().copied().eq((1..).take(started.len())) {
            self.find(format!("attempts {started:?} were started"));
        }
        let polled: Vec<u32> = self.polls.iter().map(|poll| poll.attempt).collect();
        if polled.iter().collect::<HashSet<_>>().len() < polled.len() {
            self.find(format!("attempts {polled:?} were polled"));
        }
        for (before, after) in self.polls.iter().zip(self.polls.iter().skip(1)) {
            // Whoever stalls between its look at the lease and its first poll comes
            // late; it was given up for that.
            let is_late = before.worker != after.worker
                && self.ended.get(&after.attempt) == Some(&Ended::Crashed);
            if before.attempt < after.attempt {
                continue;
            }
            if is_late {
                self.late += 1;
            } else {
                self.findings.push(format!("attempts {polled:?} were polled, in this order"));
            }
        }
        for attempt in polled {
            if !started.contains(&attempt) {
                self.find(format!("attempt {attempt} was polled, and never charged"));
            }
            if self.released.contains(&attempt) {
                self.find(format!("attempt {attempt} was polled, and given back"));
            }
        }
        for (attempt, ended) in self.ended.clone() {
            let is_polled = self.polls.iter().any(|poll| poll.attempt == attempt);
            if !is_polled && matches!(ended, Ended::Succeeded | Ended::Failed) {
                self.find(format!("attempt {attempt} {ended}, and was never polled"));
            }
        }
    }

    fn bounds(&mut self) {
        let head = self.record.head();
        let (policy, attempts) = (head.policy, head.attempts());
        let max = self.kind.max_attempts();
        if attempts > max || policy.get_max_attempts() != max {
            self.find(format!("{attempts} attempts count, and {max} are allowed"));
        }
        if self.polls.len() > max as usize {
            self.find(format!("{} attempts were polled, and {max} are allowed", self.polls.len()));
        }
        let deadline = policy.get_deadline();
        for (attempt, elapsed) in self.started.clone() {
            if elapsed >= deadline {
                self.find(format!("attempt {attempt} started at {elapsed:?} of {deadline:?}"));
            }
        }
    }

    /// Late, and never early: by its own time and by the book's.
    fn waits(&mut self, is_stepped: bool) {
        /// Two clocks of one machine.
        const APART: Duration = Duration::from_millis(2);
        let at = |attempt| self.polls.iter().find(|poll| poll.attempt == attempt);
        let mut early = Vec::new();
        for (attempt, (start, delay)) in &self.delays {
            let next = self.started.iter().find(|(next, _)| next > attempt);
            let Some((next, elapsed)) = next else { continue };
            if elapsed < start {
                early.push(format!("attempt {next} started at {elapsed:?}, not {start:?}"));
            }
            // One that was given up may have begun later than that.
            let is_given_up = self.ended.get(attempt) == Some(&Ended::Crashed);
            if !is_stepped
                && !is_given_up
                && let (Some(before), Some(after)) = (at(*attempt), at(*next))
                && after.at.duration_since(before.at) + APART < *delay
            {
                let span = after.at.duration_since(before.at);
                early.push(format!("attempt {next} was polled {span:?} later, not {delay:?}"));
            }
        }
        early.into_iter().for_each(|early| self.find(early));
    }

    /// After an attempt of which nobody knows what it did, one that runs at most
    /// once is a person's.
    fn safety(&mut self) {
        if !self.kind.is_at_most_once() {
            return;
        }
        if self.effects.len() > 1 {
            self.find(format!("it took effect {} times", self.effects.len()));
        }
        let unsure = self.ended.iter().find(|(_, ended)| {
            matches!(ended, Ended::Crashed | Ended::Dropped | Ended::Cut | Ended::Panicked)
        });
        let Some((&attempt, &ended)) = unsure else { return };
        if let Some(poll) = self.polls.iter().find(|poll| poll.attempt > attempt) {
            self.find(format!("attempt {attempt} {ended}, and {} was polled", poll.attempt));
        }
        let phase = self.record.head().phase;
        if phase != Phase::Review {
            self.find(format!("attempt {attempt} {ended}, and it is {phase}"));
        }
    }

    /// One result, which is what the other side has.
    fn result(&mut self) {
        let recorded = self.record.entries().iter();
        let recorded =
            recorded.filter(|entry| matches!(entry.event(), Event::ResultRecorded { .. })).count();
        if recorded > 1 {
            self.find(format!("{recorded} results are recorded"));
        }
        let result = self.record.result().and_then(|result| serde_json::from_str(result).ok());
        let is_done = self.record.head().phase == Phase::Done;
        if is_done != result.is_some() {
            self.find("it is done without a result, or has one and is not".to_owned());
        }
        if let Some(result) = result
            && self.effects.first() != Some(&result)
        {
            self.find(format!("{result:?} is recorded, and the book has {:?}", self.effects));
        }
    }

    /// Callers are told what is recorded.
    fn answers(&mut self, answers: &[Answer]) {
        let result: Option<Receipt> =
            self.record.result().and_then(|result| serde_json::from_str(result).ok());
        let stop = self.record.head().stop.as_ref().map(|stop| stop.reason.code().to_owned());
        let number = self.number;
        for answer in answers.iter().filter(|answer| answer.operation == number) {
            if answer.receipt != result || answer.stopped != stop {
                self.find(format!("a caller was told {answer:?}; it is {result:?}, {stop:?}"));
            }
        }
    }
}

/// What has fallen from one state to a later one.
pub fn fallen(before: &Kept, after: &Kept) -> Option<String> {
    let fallen = before.counts().into_iter().zip(after.counts());
    let fallen = fallen.filter(|((_, before), (_, after))| before > after);
    let fallen: Vec<_> = fallen
        .map(|((what, before), (_, after))| format!("{what} fell from {before} to {after}"))
        .collect();
    (!fallen.is_empty()).then(|| fallen.join(", "))
}

/// The number of the order that an operation was called with.
pub fn number_of(record: &Record) -> Option<u32> {
    let arguments: serde_json::Value = serde_json::from_str(record.arguments().json()).ok()?;
    u32::try_from(arguments["order"]["number"].as_u64()?).ok()
}
