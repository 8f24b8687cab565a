//! Whether the decisions that a record holds are those of the pure function.

use std::fmt;
use std::time::Duration;

use super::{DelayChosen, Entry, Event, Head, Record, RecordId};
use crate::classify::Failure;
use crate::decide::{Decision, Situation, decide, decide_start, planned};
use crate::stop::StopReason;

/// What a replay found: every decision is the one that the pure function makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// Entries that were read.
    pub entries: usize,
    /// Decisions among them that were made again.
    pub decisions: usize,
}

/// The first decision that is not the one that the pure function makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The record.
    pub record: RecordId,
    /// The entry, from 1.
    pub entry: u32,
    /// What the record says.
    pub recorded: String,
    /// What the pure function says.
    pub decided: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { record, entry, recorded, decided } = self;
        write!(f, "entry {entry} of record {record} says {recorded}, and the decision is {decided}")
    }
}

impl std::error::Error for Difference {}

impl Record {
    /// Makes every decision of the record again, by the policy, the ledger and the
    /// failures that it holds. No clock is read: what a restart took is an entry.
    ///
    /// # Errors
    /// The first decision that differs.
    pub fn replay(&self) -> Result<Replayed, Difference> {
        let mut replay = Replay { head: None, failed: None, has_succeeded: false, decisions: 0 };
        for entry in self.entries() {
            replay.follow(self.head().record, entry)?;
        }
        Ok(Replayed { entries: self.entries().len(), decisions: replay.decisions })
    }
}

struct Replay {
    /// What was folded so far.
    head: Option<Head>,
    /// What the attempt that has just finished is judged by.
    failed: Option<(Failure, Situation)>,
    /// It has succeeded: a review then is about its value, and not decided.
    has_succeeded: bool,
    decisions: usize,
}

impl Replay {
    fn follow(&mut self, record: RecordId, entry: &Entry) -> Result<(), Difference> {
        let differs = |recorded: String, decided: String| {
            Err(Difference { record, entry: entry.seq(), recorded, decided })
        };
        let Some(head) = &mut self.head else {
            self.head = Head::begin(record, entry).ok();
            return Ok(());
        };
        let failed = self.failed.take();
        let is_about_value =
            self.has_succeeded && matches!(entry.event(), Event::ReviewOpened { .. });
        if let Some(said) = Said::by(entry.event()).filter(|_| !is_about_value) {
            let decided = said.decided(head, failed.as_ref(), entry.event());
            self.decisions += 1;
            if decided != said {
                return differs(said.to_string(), decided.to_string());
            }
        } else if failed.is_some() {
            return differs(format!("`{}`", entry.event().kind()), "another".to_owned());
        }
        self.has_succeeded = false;
        if let Event::AttemptFinished { failure, situation, .. } = entry.event() {
            self.has_succeeded = failure.is_none();
            self.failed = failure.map(|failure| (failure, *situation));
        }
        // The record is verified: it folds.
        head.follow(entry).or_else(|error| differs(error.to_string(), "that it cannot".to_owned()))
    }
}

/// A decision, as far as a record says it.
#[derive(Clone, Debug, PartialEq)]
enum Said {
    Starts,
    Waits(DelayChosen),
    Defers {
        reason: StopReason,
        until: Duration,
    },
    Stops {
        reason: StopReason,
        planned: Option<Duration>,
    },
    /// Nothing is to be decided there.
    Nothing,
}

impl Said {
    fn by(event: &Event) -> Option<Self> {
        Some(match event {
            Event::AttemptStarted { .. } => Self::Starts,
            Event::DelayChosen(chosen) => Self::Waits(*chosen),
            Event::Deferred { reason, until, .. } => {
                Self::Defers { reason: *reason, until: *until }
            }
            Event::Parked { reason, start, .. } => Self::Stops { reason: *reason, planned: *start },
            Event::Dead { reason, .. } | Event::ReviewOpened { reason, .. } => {
                Self::Stops { reason: *reason, planned: None }
            }
            _ => return None,
        })
    }

    /// What is decided in its place.
    fn decided(&self, head: &Head, failed: Option<&(Failure, Situation)>, event: &Event) -> Self {
        let mut ledger = head.ledger();
        let Some((failure, situation)) = failed else {
            let (elapsed, situation) = match event {
                Event::AttemptStarted { elapsed, .. } => (*elapsed, Situation::new()),
                Event::Deferred { elapsed, situation, .. }
                | Event::Parked { elapsed, situation, .. }
                | Event::Dead { elapsed, situation, .. } => (*elapsed, *situation),
                _ => return Self::Nothing,
            };
            ledger.reached(elapsed);
            let decision = decide_start(&head.policy, &ledger, &situation.safety(head.safety));
            return Self::of(&decision, None);
        };
        let situation = situation.safety(head.safety);
        let decision = decide(&head.policy, &ledger, &situation, &head.operation, Some(failure));
        let planned = match &decision {
            Decision::Stop(stop) if stop.reason().finality() == super::Finality::Resumable => {
                planned(&head.policy, &ledger, &situation, &head.operation, failure)
            }
            _ => None,
        };
        Self::of(&decision, planned)
    }

    fn of(decision: &Decision, planned: Option<Duration>) -> Self {
        match decision {
            Decision::StartAttempt => Self::Starts,
            Decision::ScheduleRetry(wait) => Self::Waits(wait.into()),
            Decision::Defer(deferral) => {
                Self::Defers { reason: deferral.reason(), until: deferral.until() }
            }
            Decision::Stop(stop) => Self::Stops { reason: stop.reason(), planned },
        }
    }
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Starts => f.write_str("start_attempt"),
            Self::Waits(chosen) => write!(
                f,
                "schedule_retry after {:?} (ceiling {:?}, unit {}, computed {:?}), starting at {:?}",
                chosen.delay, chosen.ceiling, chosen.unit, chosen.computed, chosen.start
            ),
            Self::Defers { reason, until } => write!(f, "deferred for {reason} until {until:?}"),
            Self::Stops { reason, planned: None } => write!(f, "{reason}"),
            Self::Stops { reason, planned: Some(start) } => {
                write!(f, "{reason}, with an attempt planned at {start:?}")
            }
            Self::Nothing => f.write_str("that nothing was to be decided"),
        }
    }
}
