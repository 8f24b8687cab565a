//! What a store is asked to change, as a pure function of the head.

use std::fmt;
use std::time::Duration;

use super::judge::{judged, judged_start};
use super::replay::Decisions;
use super::{Checksum, Ended, Entry, Event, Head, Holder, Lease, Phase, RecordError, Timestamp};
use crate::classify::Failure;
use crate::decide::Situation;

/// The claim that a write is made under. A write whose claim is over is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fence {
    /// The claim.
    pub epoch: u64,
    /// Who holds it.
    pub holder: Holder,
}

/// One change of one record: what a store applies to the head inside its own
/// transaction, and keeps with the entries that come out.
///
/// It decides by [`decide`](crate::decide) where something is to be decided, and
/// by nothing else: so each store answers alike.
#[derive(Clone, Debug)]
pub enum Change {
    /// The same call goes on with an operation that nobody holds: takes the
    /// lease, and charges the time in which nobody held it. An attempt whose
    /// holder was lost is judged as one that failed.
    TakeOver {
        /// The claim as it was read.
        epoch: u64,
        /// Who takes it.
        holder: Holder,
        /// For how long.
        lease: Duration,
    },
    /// The holder writes.
    Append {
        /// The claim.
        fence: Fence,
        /// What happened, in order.
        events: Vec<Event>,
        /// Whether the holder keeps its lease. It ends where the operation is
        /// settled.
        keeps: bool,
        /// The result, beside [`Event::ResultRecorded`].
        result: Option<String>,
    },
    /// The holder is gone, and writes this without waiting: an attempt whose body
    /// was polled has failed, one that was not is released. The lease ends.
    Abandon {
        /// The claim.
        fence: Fence,
        /// How the attempt ended, where its body was polled.
        ended: Option<Ended>,
        /// When, in logical time.
        elapsed: Duration,
        /// What held around the operation.
        situation: Situation,
    },
    /// The holder extends its lease.
    Heartbeat {
        /// The claim.
        fence: Fence,
        /// From now.
        lease: Duration,
    },
    /// A queue's worker claims an operation that is due, and charges an attempt.
    /// One that is in no queue is only gone on with by its own call.
    Claim {
        /// The worker.
        holder: Holder,
        /// For how long.
        lease: Duration,
    },
    /// The lease is over, and nobody goes on: what the lost holder left is judged.
    Reclaim {
        /// The claim as it was read.
        epoch: u64,
    },
}

/// What came out of a change.
#[derive(Clone, Debug, PartialEq)]
pub struct Applied {
    /// Entries to keep, in order.
    pub entries: Vec<Entry>,
    /// The result to keep.
    pub result: Option<String>,
}

/// A change that does not apply. Nothing is written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    /// The claim is over: somebody else holds the operation, or nobody.
    Fenced,
    /// Somebody holds it, until then at least.
    InFlight {
        /// By the store's clock.
        until: Timestamp,
    },
    /// It is done, dead or in review.
    Settled(Phase),
    /// It is not due yet, or never: it is in no queue.
    NotDue,
    /// There is no such record.
    Missing,
    /// The event cannot follow.
    Illegal(RecordError),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fenced => f.write_str("the claim is over"),
            Self::InFlight { .. } => f.write_str("somebody else holds the operation"),
            Self::Settled(phase) => write!(f, "the operation is {phase}"),
            Self::NotDue => f.write_str("the operation is not due yet"),
            Self::Missing => f.write_str("there is no such record"),
            Self::Illegal(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Refused {}

impl From<RecordError> for Refused {
    fn from(error: RecordError) -> Self {
        Self::Illegal(error)
    }
}

impl Change {
    /// An attempt is charged, under the lease.
    pub fn start(fence: Fence, attempt: u32, elapsed: Duration) -> Self {
        let events = vec![Event::AttemptStarted { attempt, elapsed }];
        Self::Append { fence, events, keeps: true, result: None }
    }

    /// The attempt gave the result, which is JSON.
    pub fn complete(fence: Fence, attempt: u32, elapsed: Duration, result: String) -> Self {
        let recorded = Event::result_recorded(&result);
        let events = vec![Event::succeeded(attempt, elapsed), recorded];
        Self::Append { fence, events, keeps: false, result: Some(result) }
    }

    /// What happened, under the lease, which goes on.
    pub const fn append(fence: Fence, events: Vec<Event>) -> Self {
        Self::Append { fence, events, keeps: true, result: None }
    }

    /// What happened, and the lease ends.
    pub const fn leave(fence: Fence, events: Vec<Event>) -> Self {
        Self::Append { fence, events, keeps: false, result: None }
    }

    /// Applies it to the head as of `now`, the store's clock.
    ///
    /// # Errors
    /// It does not apply. The head is then not to be kept.
    pub fn apply(self, head: &mut Head, now: Timestamp) -> Result<Applied, Refused> {
        // Whatever a store's clock does, the times of a record never run back.
        let now = now.max(head.updated_at);
        let mut result = None;
        let mut applying = Applying { head, now, entries: Vec::new() };
        match self {
            Self::TakeOver { epoch, holder, lease } => {
                applying.expect_free(epoch)?;
                applying.take(holder, lease)?;
            }
            Self::Append { fence, events, keeps, result: given } => {
                applying.expect_holder(fence)?;
                expect_recorded(&events, given.as_deref())?;
                applying.append(events)?;
                result = given;
                if !keeps {
                    applying.let_go()?;
                }
            }
            Self::Abandon { fence, ended, elapsed, situation } => {
                applying.expect_holder(fence)?;
                applying.abandoned(ended, elapsed, situation)?;
                applying.head.lease.held = None;
            }
            Self::Heartbeat { fence, lease } => {
                applying.expect_holder(fence)?;
                applying.extend(fence.holder, lease);
            }
            Self::Claim { holder, lease } => {
                applying.expect_due()?;
                applying.take(holder, lease)?;
                if !applying.head.phase.is_settled() {
                    applying.start()?;
                }
            }
            Self::Reclaim { epoch } => {
                applying.expect_lost(epoch)?;
                applying.head.lease.held = None;
                applying.pick_up(true)?;
            }
        }
        let Applying { head, entries, .. } = applying;
        if head.phase.is_settled() {
            head.lease.held = None;
        }
        Ok(Applied { entries, result })
    }
}

impl Event {
    /// The operation has this result, which is kept beside the event.
    pub fn result_recorded(result: &str) -> Self {
        Self::ResultRecorded { sum: Checksum::of_text(result).to_string() }
    }

    /// The attempt gave a value.
    pub(crate) fn succeeded(attempt: u32, elapsed: Duration) -> Self {
        Self::AttemptFinished {
            attempt,
            elapsed,
            ended: Ended::Succeeded,
            failure: None,
            error: None,
            situation: Situation::new(),
        }
    }
}

struct Applying<'a> {
    head: &'a mut Head,
    now: Timestamp,
    entries: Vec<Entry>,
}

impl Applying<'_> {
    fn push(&mut self, event: Event) -> Result<(), RecordError> {
        self.entries.push(self.head.append(event, self.now)?);
        Ok(())
    }

    /// What the holder writes: its decisions must be those of the pure function,
    /// and an attempt that finished must be answered.
    fn append(&mut self, events: Vec<Event>) -> Result<(), RecordError> {
        let mut decisions = Decisions::default();
        for event in events {
            decisions.follow(self.head, &event)?;
            self.push(event)?;
        }
        Ok(decisions.finish(self.head)?)
    }

    /// An attempt runs only under a lease: by its end a lost one is found.
    fn let_go(&mut self) -> Result<(), RecordError> {
        if self.head.phase == Phase::Running {
            let holds = "would have an attempt running under no lease".to_owned();
            return Err(RecordError::Illegal { event: "attempt_started", holds });
        }
        self.head.lease.held = None;
        Ok(())
    }

    fn expect_holder(&self, fence: Fence) -> Result<(), Refused> {
        let Lease { epoch, held } = self.head.lease;
        match held {
            Some((holder, _)) if epoch == fence.epoch && holder == fence.holder => Ok(()),
            _ => Err(Refused::Fenced),
        }
    }

    fn expect_unsettled(&self) -> Result<(), Refused> {
        match self.head.phase {
            phase if phase.is_settled() => Err(Refused::Settled(phase)),
            _ => Ok(()),
        }
    }

    fn expect_free(&self, epoch: u64) -> Result<(), Refused> {
        self.expect_unsettled()?;
        match self.head.lease.held {
            Some((_, until)) if until > self.now => Err(Refused::InFlight { until }),
            _ if self.head.lease.epoch != epoch => Err(Refused::Fenced),
            _ => Ok(()),
        }
    }

    fn expect_lost(&self, epoch: u64) -> Result<(), Refused> {
        self.expect_free(epoch)?;
        if self.head.lease.held.is_none() { Err(Refused::Fenced) } else { Ok(()) }
    }

    fn expect_due(&self) -> Result<(), Refused> {
        self.expect_unsettled()?;
        match self.head.lease.held {
            Some((_, until)) => Err(Refused::InFlight { until }),
            None if self.head.queue.is_empty() || self.head.due_at > self.now => {
                Err(Refused::NotDue)
            }
            None => Ok(()),
        }
    }

    /// Takes the lease, and judges what the one before has left.
    fn take(&mut self, holder: Holder, lease: Duration) -> Result<(), RecordError> {
        let was_lost = self.head.lease.held.is_some();
        let epoch = self.head.lease.epoch.saturating_add(1);
        self.head.lease = Lease { epoch, held: Some((holder, self.now.plus(lease))) };
        self.pick_up(was_lost)
    }

    /// Charges the time since the last entry, if the deadline runs already, and
    /// judges an attempt that its holder did not finish.
    fn pick_up(&mut self, was_lost: bool) -> Result<(), RecordError> {
        let since = match self.head.has_begun() {
            true => self.now.since(self.head.updated_at),
            false => Duration::ZERO,
        };
        let left = self.head.policy.get_deadline().saturating_sub(self.head.elapsed);
        let charged = since.min(left);
        if was_lost {
            self.push(Event::LeaseLost {})?;
        }
        if !charged.is_zero() {
            self.push(Event::Resumed { charged })?;
        }
        if self.head.phase == Phase::Running {
            self.interrupted(Ended::Crashed, self.head.elapsed, Situation::new())?;
        }
        Ok(())
    }

    fn start(&mut self) -> Result<(), RecordError> {
        let elapsed = self.head.elapsed;
        let refused = judged_start(self.head, elapsed, &Situation::new());
        self.push(refused.unwrap_or_else(|| {
            let attempt = self.head.started.saturating_add(1);
            Event::AttemptStarted { attempt, elapsed }
        }))
    }

    fn abandoned(
        &mut self,
        ended: Option<Ended>,
        elapsed: Duration,
        situation: Situation,
    ) -> Result<(), RecordError> {
        match ended {
            _ if self.head.phase != Phase::Running => Ok(()),
            Some(ended) => self.interrupted(ended, elapsed, situation),
            None => self.push(Event::Released { attempt: self.head.started }),
        }
    }

    /// An attempt without an outcome may have taken effect: it has failed, and what
    /// follows is decided as after any other failure.
    fn interrupted(
        &mut self,
        ended: Ended,
        elapsed: Duration,
        situation: Situation,
    ) -> Result<(), RecordError> {
        let failure = Failure::transient();
        let attempt = self.head.started;
        let elapsed = elapsed.max(self.head.elapsed);
        self.push(Event::AttemptFinished {
            attempt,
            elapsed,
            ended,
            failure: Some(failure),
            error: None,
            situation: situation.recorded(&self.head.policy),
        })?;
        let event = judged(self.head, &failure, &situation);
        event.map_or(Ok(()), |event| self.push(event))
    }

    /// A clock that was stepped back makes no lease older.
    fn extend(&mut self, holder: Holder, lease: Duration) {
        let until = self.now.plus(lease);
        let before = self.head.lease.held.map_or(until, |(_, before)| before);
        self.head.lease.held = Some((holder, until.max(before)));
    }
}

/// The result is kept with the entry that has its checksum.
fn expect_recorded(events: &[Event], result: Option<&str>) -> Result<(), RecordError> {
    let recorded = events.iter().find_map(|event| match event {
        Event::ResultRecorded { sum } => Some(sum.as_str()),
        _ => None,
    });
    let sum = result.map(|result| Checksum::of_text(result).to_string());
    if recorded == sum.as_deref() {
        return Ok(());
    }
    let holds = match (recorded, sum) {
        (Some(_), None) => "was given no result",
        (None, _) => "was given a result that no entry tells",
        _ => "was given another result than the entry tells",
    };
    Err(RecordError::Illegal { event: "result_recorded", holds: holds.to_owned() })
}
