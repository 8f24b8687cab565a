//! The thread that writes: all that one process asks for, in order, many to a
//! commit.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};

use futures_channel::oneshot;
use retry_core::store::StoreError;

use crate::reader::ReaderMessage;
use crate::session::{Session, Undone};
use crate::task::Task;
use crate::waiting::Waiting;

/// What the thread is told.
pub(crate) enum WriterMessage {
    Write(Box<dyn Task>),
    /// To be read behind what was written before.
    Read(Box<dyn Task>),
    /// Answered once the file is closed.
    Close(oneshot::Sender<Result<(), StoreError>>),
}

pub(crate) struct Writer {
    pub(crate) session: Session,
    pub(crate) messages: Receiver<WriterMessage>,
    pub(crate) reader: Sender<ReaderMessage>,
    pub(crate) waiting: Arc<Waiting>,
}

/// How many records one commit may be about; one task may be more.
const GROUP: usize = 64;

impl Writer {
    /// Until everybody who can ask has gone, and everything asked for is written.
    pub(crate) fn run(mut self) {
        let mut closing = Vec::new();
        while let Ok(first) = self.messages.recv() {
            let group = self.gather(first);
            self.write(group.writes);
            for read in group.reads {
                // The reader ends after this thread has.
                let _ = self.reader.send(ReaderMessage::Read(read));
            }
            closing.extend(group.closing);
        }
        self.session.sign_out();
        let (closed, is_closed) = mpsc::channel::<()>();
        let _ = self.reader.send(ReaderMessage::End(Box::new(move || drop(closed))));
        // Closed last, this connection empties the log.
        let _ = is_closed.recv();
        drop(self);
        for closed in closing {
            let _ = closed.send(Ok(()));
        }
    }

    /// What is in the queue already: nobody waits for company.
    fn gather(&self, first: WriterMessage) -> Group {
        let mut group = Group::default();
        let mut next = Some(first);
        while let Some(message) = next {
            group.add(message);
            next = if group.weight < GROUP { self.messages.try_recv().ok() } else { None };
        }
        group
    }

    fn write(&mut self, mut tasks: Vec<Box<dyn Task>>) {
        if tasks.is_empty() {
            return;
        }
        match self.session.write(&mut tasks) {
            Ok(freed) => {
                tasks.into_iter().for_each(|task| task.answer(Ok(())));
                self.waiting.free(&freed);
            }
            // One that cannot be written is found by itself, and holds back no other.
            Err(Undone::ByStatement(_)) if tasks.len() > 1 => {
                tasks.into_iter().for_each(|task| self.write(vec![task]));
            }
            Err(Undone::ByStatement(error) | Undone::AsWhole(error)) => {
                tasks.into_iter().for_each(|task| task.answer(Err(error.clone())));
            }
        }
    }
}

#[derive(Default)]
struct Group {
    writes: Vec<Box<dyn Task>>,
    weight: usize,
    reads: Vec<Box<dyn Task>>,
    closing: Vec<oneshot::Sender<Result<(), StoreError>>>,
}

impl Group {
    fn add(&mut self, message: WriterMessage) {
        match message {
            WriterMessage::Write(task) => {
                self.weight += task.weight();
                self.writes.push(task);
            }
            WriterMessage::Read(task) => self.reads.push(task),
            WriterMessage::Close(closed) => self.closing.push(closed),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::executor::block_on;
    use retry_core::key::ToKey as _;
    use retry_core::record::{Arguments, New, RecordId};
    use retry_core::store::{Enqueued, List, Store as _, StoreError};
    use retry_core::{OperationId, Policy, Safety};

    use crate::SqliteStore;

    fn operation(key: u64) -> New {
        New {
            record: RecordId::new(),
            operation: OperationId::keyed("export", key.to_key("export").unwrap()),
            safety: Safety::Keyed,
            policy: Policy::new(5, Duration::from_secs(60)),
            arguments: Arguments::of(&"x".repeat(1000)).unwrap(),
            queue: String::new(),
            code_version: None,
            keep: Duration::ZERO,
            held: None,
            started: false,
        }
    }

    /// A file that may have so many pages is SQLite's own disk that is full.
    fn limit(store: &SqliteStore, pages: u32) {
        let limit = store.write(0, move |book| {
            let pragma = format!("PRAGMA max_page_count = {pages}");
            book.connection.query_row(&pragma, [], |_| Ok(Ok(())))
        });
        block_on(limit).unwrap();
    }

    #[test]
    fn a_full_disk_is_an_error_and_nothing_else_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(folder.path().join("store.db")).unwrap();
        limit(&store, 60);

        let mut kept = Vec::new();
        let error = loop {
            match block_on(store.enqueue(operation(kept.len() as u64))) {
                Ok(Enqueued::New(head)) => kept.push(*head),
                Ok(Enqueued::Existing(_)) => panic!("each key is new"),
                Err(error) => break error,
            }
        };
        assert!(matches!(error, StoreError::Full { .. }), "{error}");
        assert!(error.to_string().contains("no room left"), "{error}");
        assert!(!kept.is_empty());
        // What was asked for together fails together, or one by one.
        let replies: Vec<_> = (1000..1010).map(|key| store.enqueue(operation(key))).collect();
        for reply in replies {
            assert!(matches!(block_on(reply), Err(StoreError::Full { .. })));
        }
        for head in &kept {
            assert_eq!(block_on(store.read(head.record)).unwrap().unwrap().head(), head);
        }
        limit(&store, 10_000);
        let next = block_on(store.enqueue(operation(kept.len() as u64))).unwrap();
        assert!(matches!(next, Enqueued::New(_)));
        let list = List { limit: usize::MAX, ..List::default() };
        assert_eq!(block_on(store.list(list)).unwrap().len(), kept.len() + 1);
        block_on(store.close()).unwrap();
    }
}
