//! A store, a book, and workers that a test tells what to do.

use std::collections::HashSet;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use retry_core::record::{Ended, Event, Record};
use retry_faults::audit::{Audit, number_of};
use retry_faults::process::{LIMIT, Worker};
use retry_faults::{Answer, Book, Folder, Kept, Said, Tally, records};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_faults");

pub(crate) struct Service {
    pub(crate) folder: Folder,
    pub(crate) book: Book,
    pub(crate) heard: Vec<Said>,
    /// Whether somebody stepped the calendar.
    pub(crate) is_stepped: bool,
}

impl Service {
    pub(crate) fn new() -> Self {
        let folder = Folder::new().unwrap();
        let book = Book::open_at(folder.path().join("book")).unwrap();
        Self { folder, book, heard: Vec::new(), is_stepped: false }
    }

    /// A process, started now.
    pub(crate) fn worker(&self, options: &[&str]) -> Worker {
        Worker::start(Path::new(PROGRAM), &self.folder.store(), &self.book, options).unwrap()
    }

    /// It is gone: what it has said is remembered.
    pub(crate) fn remember(&mut self, worker: &Worker) {
        self.heard.extend(worker.heard().iter().cloned());
    }

    /// Calls everything anew that has no answer, and lets it come to its end.
    pub(crate) fn settle(&mut self, operations: &[u32]) {
        let mut worker = self.worker(&[]);
        operations.iter().for_each(|number| worker.ask(*number));
        worker.tell_no_more();
        worker.end().unwrap();
        self.remember(&worker);
    }

    /// Until this attempt of the operation was polled.
    pub(crate) fn until_polled(&self, operation: u32, attempt: u32) {
        until(|| self.book.attempts(operation).unwrap().contains(&attempt));
    }

    pub(crate) fn record(&self, operation: u32) -> Record {
        let mut records = records(&self.folder.store()).unwrap().into_iter();
        let record = records.find(|record| number_of(record) == Some(operation)).unwrap();
        record.replay().unwrap();
        record
    }

    pub(crate) fn kept(&self) -> Vec<Kept> {
        let kept = self.heard.iter().filter_map(|said| match said {
            Said::Kept(kept) => Some(kept.clone()),
            _ => None,
        });
        kept.collect()
    }

    pub(crate) fn answers(&self) -> Vec<Answer> {
        let answers = self.heard.iter().filter_map(|said| match said {
            Said::Answered(answer) => Some(answer.clone()),
            _ => None,
        });
        answers.collect()
    }

    /// Everything that must hold of these operations, which are settled.
    pub(crate) fn audit(&self, operations: &[u32]) -> Tally {
        let tally = Audit {
            operations: &operations.iter().copied().collect::<HashSet<_>>(),
            records: &records(&self.folder.store()).unwrap(),
            polls: &self.book.polls().unwrap(),
            effects: &self.book.effects().unwrap(),
            kept: &self.kept(),
            answers: &self.answers(),
            is_settled: true,
            is_stepped: self.is_stepped,
        }
        .tally();
        assert!(tally.acknowledged > 0 && tally.polled > 0, "{tally}");
        assert_eq!(tally.findings, Vec::<String>::new());
        tally
    }
}

/// Waits until it holds.
pub(crate) fn until(mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + LIMIT;
    while !holds() {
        assert!(Instant::now() < end, "it never came to that");
        thread::sleep(Duration::from_millis(5));
    }
}

/// What each attempt that was charged came to.
pub(crate) fn attempts(record: &Record) -> Vec<(u32, Ended)> {
    let finished = record.entries().iter().filter_map(|entry| match entry.event() {
        Event::AttemptFinished { attempt, ended, .. } => Some((*attempt, *ended)),
        _ => None,
    });
    finished.collect()
}
