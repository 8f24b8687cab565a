//! Whether the decisions that a record holds are those of the pure function.

use std::fmt;
use std::time::Duration;

use super::judge::{judged, judged_start};
use super::{DelayChosen, Entry, Event, Finality, Head, Record, RecordError, RecordId};
use crate::classify::Failure;
use crate::decide::Situation;
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
        let mut head = None;
        let mut decisions = Decisions::default();
        for entry in self.entries() {
            self.follow(&mut head, &mut decisions, entry).map_err(|undecided| Difference {
                record: self.head().record,
                entry: entry.seq(),
                recorded: undecided.recorded,
                decided: undecided.decided,
            })?;
        }
        Ok(Replayed { entries: self.entries().len(), decisions: decisions.made })
    }

    fn follow(
        &self,
        head: &mut Option<Head>,
        decisions: &mut Decisions,
        entry: &Entry,
    ) -> Result<(), Undecided> {
        // The record is verified: it folds.
        let folds = |error: RecordError| Undecided::new(error, "that it cannot");
        match head {
            None => *head = Some(Head::begin(self.head().record, entry).map_err(folds)?),
            Some(head) => {
                decisions.follow(head, entry.event())?;
                head.follow(entry).map_err(folds)?;
            }
        }
        Ok(())
    }
}

/// Makes the decisions among the events of an operation again: of those that are
/// kept, and of those that are about to be.
#[derive(Default)]
pub(super) struct Decisions {
    open: Open,
    made: usize,
}

/// What the next event has to answer.
#[derive(Clone, Copy, Default)]
enum Open {
    #[default]
    Nothing,
    /// What the attempt that has just finished is judged by.
    Failed(Failure, Situation),
    /// Its value is kept next, or a person looks at it.
    Succeeded,
}

/// An event that is not what the pure function decides.
#[derive(Debug)]
pub(super) struct Undecided {
    recorded: String,
    decided: String,
}

impl Undecided {
    fn new(recorded: impl fmt::Display, decided: impl fmt::Display) -> Self {
        Self { recorded: recorded.to_string(), decided: decided.to_string() }
    }
}

impl From<Undecided> for RecordError {
    fn from(Undecided { recorded, decided }: Undecided) -> Self {
        Self::Undecided { recorded, decided }
    }
}

impl Decisions {
    /// Judges the event that is to follow what `head` holds.
    pub(super) fn follow(&mut self, head: &Head, event: &Event) -> Result<(), Undecided> {
        let open = std::mem::take(&mut self.open);
        let is_value = matches!(event, Event::ResultRecorded { .. });
        match (open, Said::by(event)) {
            (Open::Nothing, None) if !is_value => {}
            // About the value, and not decided.
            (Open::Succeeded, None) if is_value => {}
            (Open::Succeeded, Some(Said::Stops { .. }))
                if matches!(event, Event::ReviewOpened { .. }) => {}
            (open, said) => {
                self.made += 1;
                let decided = open.decided(head, event);
                if said.is_none() || said != decided {
                    return Err(Undecided::new(shown(said, event), open.shown(decided)));
                }
            }
        }
        if let Event::AttemptFinished { failure, situation, .. } = event {
            self.open =
                failure.map_or(Open::Succeeded, |failure| Open::Failed(failure, *situation));
        }
        Ok(())
    }

    /// An attempt that finished is answered in the same change.
    pub(super) fn finish(self, head: &Head) -> Result<(), Undecided> {
        let decided = match self.open {
            Open::Nothing => return Ok(()),
            Open::Succeeded => None,
            Open::Failed(failure, situation) => after(head, &failure, &situation),
        };
        Err(Undecided::new("nothing after `attempt_finished`", self.open.shown(decided)))
    }
}

impl Open {
    /// What is decided in the place of the event; `None`: nothing is.
    fn decided(self, head: &Head, event: &Event) -> Option<Said> {
        let (elapsed, situation) = match (self, event) {
            (Self::Failed(failure, situation), _) => return after(head, &failure, &situation),
            (Self::Succeeded, _) => return None,
            (Self::Nothing, Event::AttemptStarted { elapsed, .. }) => (*elapsed, Situation::new()),
            (
                Self::Nothing,
                Event::Deferred { elapsed, situation, .. }
                | Event::Parked { elapsed, situation, .. }
                | Event::Dead { elapsed, situation, .. },
            ) => (*elapsed, *situation),
            _ => return None,
        };
        match judged_start(head, elapsed, &situation) {
            Some(refused) => Said::by(&refused),
            None => Some(Said::Starts),
        }
    }

    fn shown(self, decided: Option<Said>) -> String {
        match (decided, self) {
            (Some(said), _) => said.to_string(),
            (None, Self::Succeeded) => "its result, or a review of it".to_owned(),
            (None, _) => "that nothing was to be decided".to_owned(),
        }
    }
}

fn after(head: &Head, failure: &Failure, situation: &Situation) -> Option<Said> {
    Said::by(&judged(head, failure, situation)?)
}

fn shown(said: Option<Said>, event: &Event) -> String {
    said.map_or_else(|| format!("`{}`", event.kind()), |said| said.to_string())
}

/// A decision, as far as a record says it.
#[derive(Clone, Debug, PartialEq)]
enum Said {
    Starts,
    Waits(DelayChosen),
    Defers { reason: StopReason, elapsed: Duration, until: Duration },
    Stops { reason: StopReason, finality: Finality, elapsed: Duration, planned: Option<Duration> },
}

impl Said {
    fn by(event: &Event) -> Option<Self> {
        Some(match event {
            Event::AttemptStarted { .. } => Self::Starts,
            Event::DelayChosen(chosen) => Self::Waits(*chosen),
            &Event::Deferred { reason, elapsed, until, .. } => {
                Self::Defers { reason, elapsed, until }
            }
            &Event::Parked { reason, elapsed, start, .. } => {
                Self::Stops { reason, finality: Finality::Resumable, elapsed, planned: start }
            }
            &Event::Dead { reason, elapsed, .. } => {
                Self::Stops { reason, finality: Finality::Dead, elapsed, planned: None }
            }
            &Event::ReviewOpened { reason, elapsed, .. } => {
                Self::Stops { reason, finality: Finality::Review, elapsed, planned: None }
            }
            _ => return None,
        })
    }
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Starts => f.write_str("start_attempt"),
            Self::Waits(chosen) => {
                let DelayChosen { attempt, ceiling, unit, computed, hint, delay, start } = chosen;
                write!(
                    f,
                    "schedule_retry after attempt {attempt} in {delay:?} (ceiling {ceiling:?}, unit {unit}, computed {computed:?}"
                )?;
                if let Some(hint) = hint {
                    write!(f, ", hint {hint:?}")?;
                }
                write!(f, "), starting at {start:?}")
            }
            Self::Defers { reason, elapsed, until } => {
                write!(f, "deferred for {reason} at {elapsed:?} until {until:?}")
            }
            Self::Stops { reason, elapsed, planned: None, finality } => {
                let end = match finality {
                    Finality::Dead => "for good",
                    Finality::Review => "for a person",
                    Finality::Resumable => "for now",
                };
                write!(f, "{reason} at {elapsed:?}, {end}")
            }
            Self::Stops { reason, elapsed, planned: Some(start), .. } => {
                write!(f, "{reason} at {elapsed:?}, with an attempt planned at {start:?}")
            }
        }
    }
}
