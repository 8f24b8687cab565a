//! Workers on one store, killed one after the other.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use anyhow::Result;
use retry_core::record::RecordId;
use retry_core::{IdempotencyKey, OperationId};
use retry_sqlite::SqliteStore;

use crate::audit::{Audit, fallen};
use crate::book::Book;
use crate::draws::Draws;
use crate::folder::Folder;
use crate::point::{Boundary, Fault, Moment, Point};
use crate::process::{End, Worker};
use crate::said::{Answer, Kept, Said};
use crate::script::Kind;
use crate::snapshot;
use crate::tally::Tally;

/// Workers on one store, killed one after the other, until everything is settled.
#[derive(Debug)]
pub struct Campaign {
    program: PathBuf,
    folder: Folder,
    book: Book,
    draws: Draws,
    /// How often operations were begun.
    batches: u32,
    operations: HashSet<u32>,
    /// Without an answer yet.
    open: BTreeSet<u32>,
    kept: Vec<Kept>,
    answers: Vec<Answer>,
    /// As of the last look.
    seen: HashMap<RecordId, (OperationId, Kept)>,
    tally: Tally,
}

/// How many operations a life begins.
const FRESH: usize = 6;

/// Who works at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crew {
    /// One process.
    Alone,
    /// Two, on one file.
    Two,
}

impl Campaign {
    /// Of workers of this program.
    ///
    /// # Errors
    /// The system does not give a folder or a socket.
    pub fn new(program: impl Into<PathBuf>, seed: u64) -> Result<Self> {
        let folder = Folder::new()?;
        let book = Book::open_at(folder.path().join("book"))?;
        Ok(Self {
            program: program.into(),
            folder,
            book,
            draws: Draws::new(seed),
            batches: 0,
            operations: HashSet::new(),
            open: BTreeSet::new(),
            kept: Vec::new(),
            answers: Vec::new(),
            seen: HashMap::new(),
            tally: Tally::default(),
        })
    }

    /// Lets a worker die at this point, after as many lives as that takes.
    ///
    /// # Errors
    /// A worker cannot be started, or does nothing.
    pub fn kill_at(&mut self, point: Point, crew: Crew) -> Result<()> {
        const TRIES: u32 = 20;
        for _ in 0..TRIES {
            if point.boundary == Boundary::Reclaim {
                self.leave_a_lease()?;
            }
            let fault = self.fault(point);
            if self.live_until(fault, crew)? {
                return Ok(());
            }
            self.tally.missed += 1;
        }
        self.find(format!("no worker came to {point} in {TRIES} lives"));
        Ok(())
    }

    /// Kills a worker at some time or other.
    ///
    /// # Errors
    /// A worker cannot be started, or does nothing.
    pub fn kill_at_random(&mut self, crew: Crew) -> Result<()> {
        let (mut worker, mut other) = self.crew(None, crew)?;
        self.pause(250);
        let end = worker.kill()?;
        self.tally.at_random += u64::from(end == End::Killed);
        self.is_over(&worker, end);
        if let Some(other) = &mut other {
            self.end_other(other)?;
        }
        self.look()
    }

    /// Lets a worker live until everything is settled, and compares.
    ///
    /// # Errors
    /// A worker cannot be started, does nothing, or the store cannot be read.
    pub fn finish(mut self) -> Result<Tally> {
        let (mut worker, _) = self.crew(None, Crew::Alone)?;
        let end = worker.end()?;
        self.is_over(&worker, end);
        if end != End::Well {
            self.find(format!("the last worker ended with {end:?}"));
        }
        self.look()?;
        if !self.open.is_empty() {
            self.find(format!("operations {:?} have no answer", self.open));
        }
        let records = snapshot::records(&self.folder.store())?;
        let audit = Audit {
            operations: &self.operations,
            records: &records,
            polls: &self.book.polls()?,
            effects: &self.book.effects()?,
            kept: &self.kept,
            answers: &self.answers,
            is_settled: true,
            is_stepped: false,
        };
        self.tally.add(audit.tally());
        if !self.tally.findings.is_empty() {
            let path = self.folder.keep();
            self.tally.findings.push(format!("left for a look: {}", path.display()));
        }
        Ok(self.tally)
    }

    /// Whether somebody died there.
    fn live_until(&mut self, fault: Fault, crew: Crew) -> Result<bool> {
        let (mut worker, mut other) = self.crew(Some(fault), crew)?;
        let end = worker.end()?;
        let is_there = self.is_over(&worker, end);
        if let Some(other) = &mut other {
            self.end_other(other)?;
        }
        self.look()?;
        Ok(is_there)
    }

    /// So that there is one to be found.
    fn leave_a_lease(&mut self) -> Result<()> {
        let claimed = Point { boundary: Boundary::Claim, moment: Moment::After };
        while !self.has_a_lease()? {
            let fault = self.fault(claimed);
            self.live_until(fault, Crew::Alone)?;
        }
        Ok(())
    }

    /// To be read. A worker may have died before it has made the tables.
    fn store(&self) -> Result<SqliteStore> {
        let path = self.folder.store();
        let store = if self.kept.is_empty() {
            SqliteStore::open(path)?
        } else {
            SqliteStore::open_read_only(path)?
        };
        Ok(store)
    }

    fn has_a_lease(&self) -> Result<bool> {
        let heads = snapshot::heads(&self.store()?)?;
        Ok(heads.iter().any(|head| head.lease.held.is_some()))
    }

    /// A worker, asked for everything that has no answer and for a few operations
    /// more; and another one beside it.
    fn crew(&mut self, fault: Option<Fault>, crew: Crew) -> Result<(Worker, Option<Worker>)> {
        let needed = fault.map_or(&[][..], |fault| Kind::passing(fault.point.boundary));
        let mut kinds: Vec<_> = Kind::unattended().filter(|kind| !needed.contains(kind)).collect();
        self.draws.shuffle(&mut kinds);
        let fresh = needed.iter().chain(kinds.iter().take(FRESH - needed.len()));
        let fresh: Vec<_> = fresh.map(|kind| kind.number(self.batches)).collect();
        self.batches += 1;
        self.operations.extend(&fresh);
        self.open.extend(fresh);
        let mut options = vec!["--retains".to_owned()];
        if let Some(fault) = fault {
            options.extend(["--fault".to_owned(), fault.to_string()]);
            options.extend(["--later".to_owned(), self.draws.below(2_000).to_string()]);
        }
        let mut order: Vec<u32> = self.open.iter().copied().collect();
        self.draws.shuffle(&mut order);
        let worker = self.start(options, &order)?;
        self.tally.lives += 1;
        if crew == Crew::Alone {
            return Ok((worker, None));
        }
        // What is removed is not to be begun again by a call that did not hear; and
        // what is needed is left to the one that is to die of it.
        let batch = self.batches - 1;
        let is_needed = |number: &u32| needed.iter().any(|kind| kind.number(batch) == *number);
        order.retain(|number| !Kind::of(*number).is_removed() && !is_needed(number));
        self.draws.shuffle(&mut order);
        let other = self.start(Vec::new(), &order)?;
        self.tally.lives += 1;
        self.tally.shared += 2;
        Ok((worker, Some(other)))
    }

    fn start(&mut self, mut options: Vec<String>, order: &[u32]) -> Result<Worker> {
        if self.draws.one_in(2) {
            options.push("--reclaims".to_owned());
        }
        let store = self.folder.store();
        let mut worker = Worker::start(&self.program, &store, &self.book, options)?;
        order.iter().for_each(|number| worker.ask(*number));
        worker.tell_no_more();
        Ok(worker)
    }

    /// Killed, or left alone to its end.
    fn end_other(&mut self, other: &mut Worker) -> Result<()> {
        let end = if self.draws.one_in(2) {
            self.pause(100);
            let end = other.kill()?;
            self.tally.at_random += u64::from(end == End::Killed);
            end
        } else {
            other.end()?
        };
        self.is_over(other, end);
        Ok(())
    }

    /// Takes down what a worker has said. Whether it died at a fault point.
    fn is_over(&mut self, worker: &Worker, end: End) -> bool {
        let mut died = None;
        for said in worker.heard() {
            match said {
                Said::Kept(kept) => self.kept.push(kept.clone()),
                Said::Answered(answer) => {
                    self.open.remove(&answer.operation);
                    self.answers.push(answer.clone());
                }
                Said::Dies { point } => died = Some(*point),
                Said::CannotOpen { error } => self.find(format!("a worker cannot open: {error}")),
                Said::Again(Answer { error: Some(error), .. }) => {
                    self.find(format!("a store failed: {error}"));
                }
                Said::Open | Said::Again(_) | Said::Removed { .. } | Said::Did { .. } => {}
            }
        }
        match (died, end) {
            (Some(point), End::Killed) => *self.tally.at_points.entry(point).or_default() += 1,
            (Some(point), end) => self.find(format!("a worker died at {point}, with {end:?}")),
            (None, End::Failed(code)) => self.find(format!("a worker failed: {code:?}")),
            (None, End::Killed | End::Well) => {}
        }
        died.is_some()
    }

    /// Nobody works: no count has fallen, and nothing is gone that was there.
    fn look(&mut self) -> Result<()> {
        let heads = snapshot::heads(&self.store()?)?;
        let effects: HashSet<u32> =
            self.book.effects()?.iter().map(|effect| effect.operation).collect();
        let mut before = std::mem::take(&mut self.seen);
        for head in &heads {
            let now = Kept::of(head);
            if let Some((_, before)) = before.remove(&head.record)
                && let Some(what) = fallen(&before, &now)
            {
                self.find(format!("{}: {what}", head.operation));
            }
            self.seen.insert(head.record, (head.operation.clone(), now));
        }
        let forgotten = self.operations.iter().filter(|number| Kind::of(**number).is_removed());
        let forgotten: HashMap<OperationId, u32> =
            forgotten.filter_map(|number| Some((removed_id(*number)?, *number))).collect();
        for (_, (operation, kept)) in before {
            let number = forgotten.get(&operation);
            if !number.is_some_and(|number| effects.contains(number)) {
                self.find(format!("{operation} was {}, and is gone", kept.phase));
            }
        }
        // A call that begins one again is another operation.
        let there: HashMap<_, _> = heads.iter().map(|head| (&head.operation, head.phase)).collect();
        for (operation, number) in &forgotten {
            let is_over = match there.get(operation) {
                Some(phase) => phase.is_settled(),
                None => effects.contains(number),
            };
            if is_over {
                self.open.remove(number);
            }
        }
        Ok(())
    }

    /// Drawn among the times that a point is passed in every life.
    fn fault(&mut self, point: Point) -> Fault {
        let often = match point.boundary {
            Boundary::Enqueue | Boundary::Claim => 4,
            Boundary::Success | Boundary::Retry | Boundary::Stop => 2,
            Boundary::Defer | Boundary::Heartbeat | Boundary::Reclaim | Boundary::Retain => 1,
        };
        let passing = 1 + self.draws.below(often) as u32;
        Fault { point, passing }
    }

    fn pause(&mut self, most: u64) {
        thread::sleep(Duration::from_millis(self.draws.below(most)));
    }

    fn find(&mut self, what: String) {
        self.tally.findings.push(what);
    }
}

/// The id of an operation that is removed once it is done.
fn removed_id(number: u32) -> Option<OperationId> {
    const NAME: &str = "faults.forgotten";
    let key = IdempotencyKey::derive(NAME, &number.to_string()).ok()?;
    Some(OperationId::keyed(NAME, key))
}
