//! What happened to an operation, for people.

use std::fmt::{self, Write as _};

use super::{Ended, Event, Head, Phase, Record, StopText};
use crate::nanos::Nanos;
use crate::safety::Safety;

impl Record {
    /// What happened to the operation, why it waits or stopped, and what follows: for
    /// people. Each entry has a line: when it was kept, by the calendar; when that was
    /// in the operation's own time; and what happened.
    ///
    /// No clock is read, so the same record has the same story. It may change with
    /// any release; programs read [`entries`](Self::entries).
    ///
    /// ```
    /// use std::time::Duration;
    /// use retry_core::clock::VirtualClock;
    /// use retry_core::record::{Arguments, Change, Fence, Holder, New};
    /// use retry_core::store::{MemoryStore, Store, Write};
    /// use retry_core::{Policy, Safety};
    ///
    /// # futures::executor::block_on(async {
    /// let store = MemoryStore::with_clock(VirtualClock::new());
    /// let (record, holder) = ("01J00000000000000000000001".parse()?, Holder::new());
    /// let new = New {
    ///     record,
    ///     operation: "payments.charge/e3c4b417-f22e-8d73-b6ed-08fd2be399ec".into(),
    ///     safety: Safety::Keyed,
    ///     policy: Policy::new(3, Duration::from_secs(30)),
    ///     arguments: Arguments::of(&serde_json::json!({ "order": "order-1" }))?,
    ///     queue: String::new(),
    ///     code_version: None,
    ///     keep: Duration::from_secs(86_400),
    ///     held: Some((holder, Duration::from_secs(30))),
    ///     started: true,
    /// };
    /// store.enqueue(new).await?;
    /// let fence = Fence { epoch: 1, holder };
    /// let change = Change::complete(fence, 1, Duration::from_millis(80), r#""receipt 7""#.to_owned());
    /// store.commit(vec![Write { record, change }]).await?;
    ///
    /// let record = store.read(record).await?.unwrap();
    /// assert_eq!(record.story(), "\
    /// payments.charge/e3c4b417-f22e-8d73-b6ed-08fd2be399ec: done after 1 attempt
    ///   record      01J00000000000000000000001
    ///   arguments   {\"order\":\"order-1\"}
    ///   policy      at most 3 attempts in 30s; waits exponential from 100ms, factor 2, cap 20s, equal jitter; hints up to 60s
    ///   repeating   is recognized by its key (keyed)
    ///
    ///   1970-01-01T00:00:00.000Z    0s  the operation begins
    ///   1970-01-01T00:00:00.000Z    0s  attempt 1 starts
    ///   1970-01-01T00:00:00.000Z  80ms  attempt 1 succeeded
    ///   1970-01-01T00:00:00.000Z  80ms  its result is recorded
    ///
    ///   result      \"receipt 7\"
    ///   next        the same call answers this result until 1970-01-02T00:00:00.000Z
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub fn story(&self) -> String {
        Story(self).to_string()
    }
}

struct Story<'a>(&'a Record);

impl fmt::Display for Story<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (record, head) = (self.0, self.0.head());
        writeln!(f, "{}: {}", Shown(&head.operation.to_string()), Standing(head))?;
        writeln!(f, "  record      {}", head.record)?;
        writeln!(f, "  arguments   {}", Shown(record.arguments().json()))?;
        writeln!(f, "  policy      {}", head.policy)?;
        writeln!(f, "  repeating   {}", repeating(head.safety))?;
        if let Some(version) = &head.code_version {
            writeln!(f, "  code        {}", Shown(version))?;
        }
        if !head.queue.is_empty() {
            writeln!(f, "  queue       {}", Shown(&head.queue))?;
        }
        writeln!(f)?;
        self.entries(f)?;
        writeln!(f)?;
        if let Some(result) = record.result() {
            writeln!(f, "  result      {}", Shown(result))?;
        }
        if let Some(error) = &head.last_error {
            writeln!(f, "  last error  {}", Shown(error))?;
        }
        if let Some((holder, until)) = head.lease.held {
            let (epoch, until) = (head.lease.epoch, until.rfc3339());
            writeln!(f, "  lease       of {holder} until {until:.3}, claim {epoch}")?;
        }
        if !head.phase.is_settled() {
            self.time(f)?;
        }
        writeln!(f, "  next        {}", Next(head))
    }
}

impl Story<'_> {
    /// Time that nobody charges yet passes too, once it runs.
    fn time(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = self.0.head();
        let left = head.policy.get_deadline().saturating_sub(head.elapsed);
        let over = head.updated_at.plus(left).rfc3339();
        match head.has_begun() {
            true => writeln!(
                f,
                "  time        is over at {over:.3}, {:?} after the last entry",
                at(left)
            ),
            false => writeln!(f, "  time        {:?} from the start of attempt 1", at(left)),
        }
    }

    fn entries(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let elapsed: Vec<_> = self.elapsed().iter().map(|at| format!("{at:?}")).collect();
        let width = elapsed.iter().map(|at| at.chars().count()).max().unwrap_or(0);
        for (entry, elapsed) in self.0.entries().iter().zip(elapsed) {
            let at = entry.at().rfc3339();
            writeln!(f, "  {at:.3}  {elapsed:>width$}  {}", entry.event())?;
        }
        Ok(())
    }

    /// The operation's own time behind each entry.
    fn elapsed(&self) -> Vec<Nanos> {
        let mut folded: Option<Head> = None;
        let mut elapsed = Vec::new();
        for entry in self.0.entries() {
            // The record is verified: it folds.
            folded = match folded.take() {
                None => Head::begin(self.0.head().record, entry).ok(),
                Some(mut head) => head.follow(entry).ok().map(|()| head),
            };
            elapsed.push(folded.as_ref().map_or(Nanos::ZERO, |head| at(head.elapsed)));
        }
        elapsed
    }
}

/// One clause: `attempt 1 failed: transient, effect possible, server 503 (gateway answered 503)`.
impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Enqueued { .. } => f.write_str("the operation begins"),
            Self::AttemptStarted { attempt, .. } => write!(f, "attempt {attempt} starts"),
            Self::AttemptFinished { attempt, ended, failure, error, .. } => {
                write!(f, "attempt {attempt} {}", ending(*ended))?;
                if let Some(failure) = failure {
                    write!(f, ": {failure}")?;
                }
                match error {
                    Some(error) => write!(f, " ({})", Shown(error)),
                    None => Ok(()),
                }
            }
            Self::DelayChosen(chosen) => {
                let (delay, start) = (at(chosen.delay), at(chosen.start));
                write!(f, "waits {delay:?}, until {start:?} (")?;
                match chosen.hint {
                    Some(hint) if hint > chosen.computed => {
                        write!(f, "asked for {:?}, computed {:?})", at(hint), at(chosen.computed))
                    }
                    _ if chosen.delay > chosen.computed => {
                        write!(f, "computed {:?}, then deferred)", at(chosen.computed))
                    }
                    _ => write!(f, "computed, ceiling {:?})", at(chosen.ceiling)),
                }
            }
            Self::Deferred { reason, until, .. } => {
                write!(f, "deferred until {:?}: {reason}, {}", at(*until), reason.description())
            }
            Self::Parked { reason, text, start, .. } => {
                write!(f, "stopped for now: {reason}, {}", Shown(text))?;
                match start {
                    Some(start) => write!(f, "; the next attempt is planned at {:?}", at(*start)),
                    None => Ok(()),
                }
            }
            Self::Resumed { charged } => {
                write!(f, "taken up again: {:?} have passed, and are charged", at(*charged))
            }
            Self::LeaseLost {} => f.write_str("its holder was lost, and did not extend the lease"),
            Self::Released { attempt } => write!(
                f,
                "attempt {attempt} is given back: its body never ran, and its number is not used again"
            ),
            Self::ResultRecorded { .. } => f.write_str("its result is recorded"),
            Self::Dead { reason, text, .. } => {
                write!(f, "stopped for good: {reason}, {}", Shown(text))
            }
            Self::ReviewOpened { reason, text, .. } => {
                write!(f, "handed to a person: {reason}, {}", Shown(text))
            }
        }
    }
}

const fn ending(ended: Ended) -> &'static str {
    match ended {
        Ended::Succeeded => "succeeded",
        Ended::Failed => "failed",
        Ended::Cut => "was cut at the end of its time",
        Ended::Dropped => "was dropped, its caller went away",
        Ended::Panicked => "panicked",
        Ended::Crashed => "crashed, its process is gone or was too slow",
    }
}

const fn repeating(safety: Safety) -> &'static str {
    match safety {
        Safety::Idempotent => "is harmless (idempotent)",
        Safety::Keyed => "is recognized by its key (keyed)",
        Safety::AtMostOnce => "only what certainly had no effect (at_most_once)",
    }
}

/// Where it stands.
struct Standing<'a>(&'a Head);

impl fmt::Display for Standing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(head) = self;
        match (head.phase, &head.stop) {
            (Phase::Ready, _) => write!(f, "ready for attempt {}", next_attempt(head)),
            (Phase::Running, _) => write!(f, "attempt {} is under way", head.started),
            (Phase::Parked, _) => {
                write!(f, "waits for attempt {}", next_attempt(head))?;
                head.due_reason.map_or(Ok(()), |reason| write!(f, ": {reason}"))
            }
            (Phase::Done, _) => {
                let s = if head.attempts() == 1 { "" } else { "s" };
                write!(f, "done after {} attempt{s}", head.attempts())
            }
            (Phase::Review, Some(StopText { reason, text })) => {
                write!(f, "in review: {reason}, {}", Shown(text))
            }
            (phase, Some(StopText { reason, text })) => {
                write!(f, "{phase}: {reason}, {}", Shown(text))
            }
            (phase, None) => write!(f, "{phase}"),
        }
    }
}

/// What follows, as far as a record can tell.
struct Next<'a>(&'a Head);

impl fmt::Display for Next<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(head) = self;
        let reason = head.stop.as_ref().map_or("the same", |stop| stop.reason.code());
        let expires = head.expires_at().unwrap_or(head.updated_at).rfc3339();
        match head.phase {
            Phase::Cancelled => f.write_str("nothing: a person ended it"),
            Phase::Done | Phase::Dead if head.operation.key().is_none() => {
                f.write_str("nothing: it has no key by which a call could come back to it")
            }
            Phase::Done => write!(f, "the same call answers this result until {expires:.3}"),
            Phase::Dead => write!(
                f,
                "the same call answers {reason} until {expires:.3}, and is a new operation then"
            ),
            Phase::Review => write!(
                f,
                "a person finds out what its attempts did; until then nothing runs, and the same call \
                 answers {reason}"
            ),
            Phase::Ready | Phase::Running | Phase::Parked => self.unsettled(f),
        }
    }
}

impl Next<'_> {
    fn unsettled(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(head) = self;
        let (attempt, due) = (next_attempt(head), head.due_at.rfc3339());
        let crashed = match head.safety {
            Safety::AtMostOnce => "counts as crashed, and a person decides",
            Safety::Idempotent | Safety::Keyed => "counts as crashed",
        };
        let other: &dyn fmt::Display = match head.queue.as_str() {
            "" => &"the same call",
            queue => &format_args!("a worker of queue `{}`", Shown(queue)).to_string(),
        };
        match (head.phase, head.lease.held.is_some()) {
            (Phase::Running, true) => write!(
                f,
                "its holder finishes attempt {}; should its lease end first, {other} takes over, and \
                 the attempt {crashed}",
                head.started
            ),
            (Phase::Running, false) => {
                write!(f, "{other} takes over, and attempt {} {crashed}", head.started)
            }
            (Phase::Parked, true) => write!(
                f,
                "its holder starts attempt {attempt} at {due:.3}; should its lease end first, {other} \
                 takes over"
            ),
            (Phase::Parked, false) => {
                write!(f, "{other} goes on with attempt {attempt}, from {due:.3}")
            }
            (_, true) => write!(
                f,
                "its holder starts attempt {attempt}; should its lease end first, {other} takes over"
            ),
            (_, false) => write!(f, "{other} goes on with attempt {attempt}"),
        }
    }
}

const fn next_attempt(head: &Head) -> u32 {
    head.started.saturating_add(1)
}

const fn at(span: std::time::Duration) -> Nanos {
    Nanos::from_duration(span)
}

/// A text of somebody else's on one line: cut, and without what would steer a
/// terminal.
struct Shown<'a>(&'a str);

impl Shown<'_> {
    const LONGEST: usize = 1000;
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars().take(Self::LONGEST) {
            match c {
                c if c.is_control() || turns_text_around(c) => write!(f, "{}", c.escape_default())?,
                c => f.write_char(c)?,
            }
        }
        match self.0.char_indices().nth(Self::LONGEST) {
            Some((shown, _)) => write!(f, " … and {} more bytes", self.0.len() - shown),
            None => Ok(()),
        }
    }
}

/// Unicode's marks of direction, by which a text reads as another one
/// (UAX #9, and CVE-2021-42574).
const fn turns_text_around(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests;
