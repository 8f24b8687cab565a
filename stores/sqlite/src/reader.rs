//! The thread that reads, and watches for what other processes write.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use futures_channel::oneshot;
use retry_core::record::{RecordId, Timestamp};

use crate::book::Sql;
use crate::session::Session;
use crate::task::Task;
use crate::waiting::Waiting;

/// What the thread is told.
pub(crate) enum ReaderMessage {
    Read(Box<dyn Task>),
    /// Tells the waiter once nobody holds the record, and at once for how long
    /// somebody does.
    Watch {
        record: RecordId,
        waiter: oneshot::Sender<()>,
        held: oneshot::Sender<Duration>,
    },
    /// Nothing is read any more, and those who wait are told so. Called once the
    /// file is closed.
    End(Box<dyn FnOnce() + Send>),
}

pub(crate) struct Reader {
    session: Session,
    messages: Receiver<ReaderMessage>,
    waiting: Arc<Waiting>,
    /// Changes with every commit of another connection.
    version: i64,
    /// When the first of the leases that are waited for is over.
    earliest: Timestamp,
    looked: Instant,
}

/// How often the file is looked at while somebody waits.
const LOOK: Duration = Duration::from_millis(20);

impl Reader {
    pub(crate) fn new(
        session: Session,
        messages: Receiver<ReaderMessage>,
        waiting: Arc<Waiting>,
    ) -> Self {
        let earliest = Timestamp::default();
        Self { session, messages, waiting, version: -1, earliest, looked: Instant::now() }
    }

    /// Until it is told to end: who waits for a record may hold a sender for long.
    pub(crate) fn run(mut self) {
        while let Ok(message) = self.next() {
            match message {
                Some(ReaderMessage::Read(task)) => self.read(task),
                Some(ReaderMessage::Watch { record, waiter, held }) => {
                    // Added before the look: whoever frees it later tells the waiter.
                    self.waiting.add(record, waiter);
                    let left = self.look_at(&[record]);
                    let _ = held.send(left.unwrap_or_default());
                }
                Some(ReaderMessage::End(closed)) => {
                    drop(self);
                    return closed();
                }
                None => {}
            }
            if self.looked.elapsed() >= LOOK {
                self.look();
            }
        }
    }

    fn next(&self) -> Result<Option<ReaderMessage>, RecvTimeoutError> {
        if self.waiting.is_empty() {
            return self.messages.recv().map(Some).map_err(|_| RecvTimeoutError::Disconnected);
        }
        match self.messages.recv_timeout(LOOK) {
            Ok(message) => Ok(Some(message)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn read(&self, mut task: Box<dyn Task>) {
        let ended = self.session.read(|book| task.act(book));
        task.answer(ended);
    }

    /// Looks whether what is waited for is free, where that can have changed.
    fn look(&mut self) {
        self.looked = Instant::now();
        let records = self.waiting.records();
        if records.is_empty() {
            return;
        }
        let connection = &self.session.connection;
        let version = connection.query_row("PRAGMA data_version", [], |row| row.get(0));
        let is_same = version.as_ref().is_ok_and(|version| *version == self.version);
        if is_same && self.session.now(Timestamp::default()) < self.earliest {
            return;
        }
        self.version = version.unwrap_or(-1);
        self.earliest = Timestamp::from_nanos(i64::MAX);
        self.look_at(&records);
    }

    /// For how long the last of them is held. A file that cannot be read is looked
    /// at again.
    fn look_at(&mut self, records: &[RecordId]) -> Option<Duration> {
        let look = self.session.read(|book| {
            let held = records.iter().map(|record| Ok((*record, book.held_until(*record)?)));
            Ok((book.now, held.collect::<Sql<Vec<_>>>()?))
        });
        let Ok((now, held)) = look else {
            self.version = -1;
            return None;
        };
        let mut left = None;
        for (record, until) in held {
            match until {
                Some(until) => {
                    left = Some(until.since(now));
                    self.earliest = self.earliest.min(until);
                }
                None => self.waiting.free(&[record]),
            }
        }
        left
    }
}
