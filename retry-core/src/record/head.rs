//! What the entries of a record fold to.

use std::time::Duration;

use super::{
    Arguments, Checksum, Ended, Entry, Event, Fingerprint, Holder, RULES, RecordError, RecordId,
    Timestamp,
};
use crate::ledger::Ledger;
use crate::nanos::Nanos;
use crate::operation_id::OperationId;
use crate::policy::Policy;
use crate::safety::Safety;
use crate::stop::StopReason;

/// What the entries of a record fold to, and who holds the operation: the row
/// that a store keeps beside the entries, so that it need not fold them again.
///
/// The fold is the same everywhere: a store only keeps what comes out of
/// [`Change::apply`](super::Change::apply).
#[derive(Clone, Debug, PartialEq)]
pub struct Head {
    /// The record.
    pub record: RecordId,
    /// The operation's id, from which its delays are derived.
    pub operation: OperationId,
    /// Why repeating it is safe.
    pub safety: Safety,
    /// The numbers that it began with, and keeps.
    pub policy: Policy,
    /// The version of the decision rules that it began under.
    pub rules: u32,
    /// Of its arguments.
    pub fingerprint: Fingerprint,
    /// The queue that hands it out; empty for an operation that only its own call
    /// goes on with.
    pub queue: String,
    /// The version of the code that began it, where that was told.
    pub code_version: Option<String>,
    /// How long its result or its final stop is kept.
    pub keep: Duration,
    /// Where it stands.
    pub phase: Phase,
    /// Attempts started, the number of the last one.
    pub started: u32,
    /// Of these, those that were never polled.
    pub released: u32,
    /// How often its holder was lost.
    pub crashes: u32,
    /// How often it was deferred.
    pub deferrals: u32,
    /// Hints received.
    pub hints: u32,
    /// Logical time, as of the last entry.
    pub elapsed: Duration,
    /// When the next attempt starts, in logical time, where a wait is planned.
    pub planned: Option<Duration>,
    /// The same by the store's clock.
    pub due_at: Timestamp,
    /// What it waits for, where that is not its own delay.
    pub due_reason: Option<StopReason>,
    /// Who holds it.
    pub lease: Lease,
    /// Why it stopped for good, or is in review.
    pub stop: Option<StopText>,
    /// The text of the last error that an attempt gave.
    pub last_error: Option<String>,
    /// How many entries it has.
    pub seq: u32,
    /// The checksum of the last one.
    pub sum: Checksum,
    /// When the first entry was kept.
    pub created_at: Timestamp,
    /// When the last one was.
    pub updated_at: Timestamp,
}

/// Where an operation stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Its next attempt may start.
    Ready,
    /// An attempt is charged, and not finished.
    Running,
    /// It waits for its planned time.
    Parked,
    /// A person decides.
    Review,
    /// It has its result.
    Done,
    /// It stopped for good.
    Dead,
    /// A person ended it. Nothing here does.
    Cancelled,
}

/// A stop as a record keeps it: the reason, and the reason with its numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StopText {
    /// Why.
    pub reason: StopReason,
    /// One clause.
    pub text: String,
}

/// Who may write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lease {
    /// How often the operation was claimed: what a stale holder is found by.
    pub epoch: u64,
    /// Who holds it, and until when by the store's clock.
    pub held: Option<(Holder, Timestamp)>,
}

/// An operation that is about to exist.
#[derive(Clone, Debug)]
pub struct New {
    /// Its record.
    pub record: RecordId,
    /// Its id; keyed, it is unique until what it came to has expired.
    pub operation: OperationId,
    /// Why repeating it is safe.
    pub safety: Safety,
    /// Its numbers.
    pub policy: Policy,
    /// Its arguments.
    pub arguments: Arguments,
    /// The queue that hands it out; empty: none.
    pub queue: String,
    /// The version of the code.
    pub code_version: Option<String>,
    /// How long its result or its final stop is kept.
    pub keep: Duration,
    /// Who goes on with it at once, and for how long the lease is; otherwise it
    /// is due now.
    pub held: Option<(Holder, Duration)>,
    /// Whether its first attempt is charged in the same commit. Only under a lease.
    pub started: bool,
}

impl New {
    /// The head and the first entries, as of `now`.
    ///
    /// # Errors
    /// The policy is not [valid](Policy::validate), or has a backoff by a function,
    /// which cannot be kept.
    pub fn apply(&self, now: Timestamp) -> Result<(Head, Vec<Entry>), RecordError> {
        // What is kept must be readable.
        self.policy.validate().map_err(|error| RecordError::Unwritable {
            what: "the policy",
            why: error.to_string(),
        })?;
        let event = Event::Enqueued {
            operation: self.operation.to_string(),
            safety: self.safety,
            policy: self.policy,
            rules: RULES,
            fingerprint: self.arguments.fingerprint(),
        };
        let entry = Entry::write(Checksum::START, (1, now, 0, 0), event)?;
        let mut head = Head::begin(self.record, &entry)?;
        (head.queue, head.code_version) = (self.queue.clone(), self.code_version.clone());
        head.keep = self.keep;
        let mut entries = vec![entry];
        if let Some((holder, lease)) = self.held {
            head.lease = Lease { epoch: 1, held: Some((holder, now.plus(lease))) };
            if self.started {
                let event = Event::AttemptStarted { attempt: 1, elapsed: Duration::ZERO };
                entries.push(head.append(event, now)?);
            }
        }
        Ok((head, entries))
    }
}

impl Phase {
    /// Each, in the order of a life.
    pub const ALL: [Self; 7] = [
        Self::Ready,
        Self::Running,
        Self::Parked,
        Self::Review,
        Self::Done,
        Self::Dead,
        Self::Cancelled,
    ];

    /// As a word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Running => "running",
            Self::Parked => "parked",
            Self::Review => "review",
            Self::Done => "done",
            Self::Dead => "dead",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether the same call answers what is recorded.
    pub const fn is_settled(self) -> bool {
        matches!(self, Self::Review | Self::Done | Self::Dead | Self::Cancelled)
    }
}

impl std::fmt::Display for Phase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

impl std::str::FromStr for Phase {
    type Err = RecordError;

    fn from_str(text: &str) -> Result<Self, RecordError> {
        let phase = Self::ALL.into_iter().find(|phase| phase.as_str() == text);
        phase.ok_or_else(|| RecordError::not("a phase of an operation", text))
    }
}

impl Head {
    /// What the decisions are made on.
    pub fn ledger(&self) -> Ledger {
        let elapsed = Nanos::from_duration(self.elapsed);
        Ledger::of(self.started, self.released, self.hints, elapsed)
    }

    /// Attempts that count: started, without those that were never polled.
    pub const fn attempts(&self) -> u32 {
        self.started.saturating_sub(self.released)
    }

    /// Whether its deadline runs: from the start of attempt 1, or from a deferral
    /// before it. How long it was in a queue before is not its own time.
    pub const fn has_begun(&self) -> bool {
        self.started > 0 || self.deferrals > 0
    }

    /// Whether somebody holds it whose lease is not over.
    pub fn is_held(&self, now: Timestamp) -> bool {
        self.lease.held.is_some_and(|(_, until)| until > now)
    }

    /// The state as a column has it: the phase, or `leased` while somebody holds
    /// it.
    pub const fn state(&self) -> &'static str {
        match self.lease.held {
            Some(_) => "leased",
            None => self.phase.as_str(),
        }
    }

    /// Whether what it came to may be forgotten.
    pub fn has_expired(&self, now: Timestamp) -> bool {
        self.expires_at().is_some_and(|at| at <= now)
    }

    /// When what it came to may be forgotten: never, unless it is done or dead.
    pub fn expires_at(&self) -> Option<Timestamp> {
        let ended = matches!(self.phase, Phase::Done | Phase::Dead | Phase::Cancelled);
        ended.then(|| self.updated_at.plus(self.keep))
    }

    /// The head behind the first entry.
    pub(super) fn begin(record: RecordId, entry: &Entry) -> Result<Self, RecordError> {
        let Event::Enqueued { operation, safety, policy, rules, fingerprint } = entry.event()
        else {
            let what = format!("its first entry is `{}`, not `enqueued`", entry.event().kind());
            return Err(RecordError::Damaged { record, entry: entry.seq(), what });
        };
        if *rules > RULES {
            return Err(RecordError::NewerRules { record, rules: *rules });
        }
        Ok(Self {
            record,
            operation: OperationId::from(operation.as_str()),
            safety: *safety,
            policy: *policy,
            rules: *rules,
            fingerprint: *fingerprint,
            queue: String::new(),
            code_version: None,
            keep: Duration::ZERO,
            phase: Phase::Ready,
            started: 0,
            released: 0,
            crashes: 0,
            deferrals: 0,
            hints: 0,
            elapsed: Duration::ZERO,
            planned: None,
            due_at: entry.at(),
            due_reason: None,
            lease: Lease::default(),
            stop: None,
            last_error: None,
            seq: entry.seq(),
            sum: entry.sum(),
            created_at: entry.at(),
            updated_at: entry.at(),
        })
    }

    /// Folds an event, and seals it as the next entry.
    pub(super) fn append(&mut self, event: Event, at: Timestamp) -> Result<Entry, RecordError> {
        self.fold(&event, at)?;
        let place = (self.seq.saturating_add(1), at, self.lease.epoch, self.started);
        let entry = Entry::write(self.sum, place, event)?;
        (self.seq, self.sum, self.updated_at) = (entry.seq(), entry.sum(), at);
        Ok(entry)
    }

    /// Folds an entry that was read.
    pub(super) fn follow(&mut self, entry: &Entry) -> Result<(), RecordError> {
        let damaged =
            |what: String| RecordError::Damaged { record: self.record, entry: entry.seq(), what };
        if entry.at() < self.updated_at {
            return Err(damaged("it was kept before the entry that it follows".to_owned()));
        }
        if entry.epoch() < self.lease.epoch {
            return Err(damaged("it was written under a claim that was over".to_owned()));
        }
        let record = self.record;
        self.fold(entry.event(), entry.at()).map_err(|error| RecordError::Damaged {
            record,
            entry: entry.seq(),
            what: error.to_string(),
        })?;
        if entry.attempt() != self.started {
            let what =
                format!("it is of attempt {}, behind attempt {}", entry.attempt(), self.started);
            return Err(RecordError::Damaged { record, entry: entry.seq(), what });
        }
        self.lease.epoch = entry.epoch();
        (self.seq, self.sum, self.updated_at) = (entry.seq(), entry.sum(), entry.at());
        Ok(())
    }

    fn fold(&mut self, event: &Event, at: Timestamp) -> Result<(), RecordError> {
        let waits = matches!(self.phase, Phase::Ready | Phase::Parked);
        let runs = self.phase == Phase::Running;
        match event {
            Event::AttemptStarted { attempt, elapsed }
                if waits && Some(*attempt) == self.started.checked_add(1) =>
            {
                self.reach(*elapsed);
                (self.started, self.phase) = (*attempt, Phase::Running);
                (self.planned, self.due_reason) = (None, None);
            }
            Event::AttemptFinished { attempt, elapsed, ended, failure, error, .. }
                if runs
                    && *attempt == self.started
                    && failure.is_none() == (*ended == Ended::Succeeded) =>
            {
                self.reach(*elapsed);
                if failure.is_some_and(|failure| failure.hint().is_some()) {
                    self.hints = self.hints.saturating_add(1);
                }
                if let Some(error) = error {
                    self.last_error = Some(error.clone());
                }
                (self.phase, self.due_at) = (Phase::Ready, at);
            }
            Event::DelayChosen(chosen) if waits => {
                self.plan(chosen.start, at);
            }
            Event::Deferred { elapsed, reason, until, .. } if waits => {
                self.reach(*elapsed);
                self.deferrals = self.deferrals.saturating_add(1);
                self.plan(*until, at);
                self.due_reason = Some(*reason);
            }
            Event::Parked { elapsed, reason, start, .. } if waits => {
                self.reach(*elapsed);
                self.plan(start.or(self.planned).unwrap_or(self.elapsed), at);
                self.due_reason = Some(*reason);
            }
            Event::Resumed { charged } if waits || runs => {
                self.reach(self.elapsed.saturating_add(*charged));
            }
            Event::LeaseLost {} if waits || runs => self.crashes = self.crashes.saturating_add(1),
            Event::Released { attempt } if runs && *attempt == self.started => {
                self.released = self.released.saturating_add(1);
                (self.phase, self.due_at) = (Phase::Ready, at);
            }
            Event::ResultRecorded { .. } if self.phase == Phase::Ready => {
                self.settle(Phase::Done, None)
            }
            Event::Dead { elapsed, reason, text, .. } if waits => {
                self.reach(*elapsed);
                self.settle(Phase::Dead, Some((*reason, text)));
            }
            Event::ReviewOpened { elapsed, reason, text } if waits => {
                self.reach(*elapsed);
                self.settle(Phase::Review, Some((*reason, text)));
            }
            event => {
                let holds = format!("is {} after attempt {}", self.phase, self.started);
                return Err(RecordError::Illegal { event: event.kind(), holds });
            }
        }
        Ok(())
    }

    /// Logical time never runs back.
    fn reach(&mut self, elapsed: Duration) {
        self.elapsed = self.elapsed.max(Nanos::from_duration(elapsed).duration());
    }

    fn plan(&mut self, start: Duration, at: Timestamp) {
        self.phase = Phase::Parked;
        let start = Nanos::from_duration(start).duration();
        self.planned = Some(start);
        self.due_reason = None;
        self.due_at = at.plus(start.saturating_sub(self.elapsed));
    }

    fn settle(&mut self, phase: Phase, stop: Option<(StopReason, &String)>) {
        self.phase = phase;
        (self.planned, self.due_reason) = (None, None);
        self.stop = stop.map(|(reason, text)| StopText { reason, text: text.clone() });
    }
}
