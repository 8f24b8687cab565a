//! The store, and the threads behind it.

use std::cell::Cell;
use std::fmt;
use std::future::{Future as _, poll_fn, ready};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::task::Poll;
use std::thread::{self, JoinHandle};

use futures_channel::oneshot;
use retry_core::OperationId;
use retry_core::record::{Head, New, Record, RecordId, Refused, Timestamp};
use retry_core::store::{Claimed, Due, Enqueued, Limits, List, Reply, Store, StoreError, Write};

use crate::book::{Book, Kept};
use crate::builder::SqliteStoreBuilder;
use crate::file::{self, Access};
use crate::identity::Identity;
use crate::place::Place;
use crate::reader::{Reader, ReaderMessage};
use crate::row::Policies;
use crate::session::Session;
use crate::task::ask;
use crate::waiting::Waiting;
use crate::wall::Wall;
use crate::writer::{Writer, WriterMessage};

/// Keeps records in an SQLite file, which several processes of one machine may
/// share.
///
/// Two threads do all of the I/O: one writes what this process asks for, in order
/// and many to a commit, the other one reads. No runtime is needed, and none is
/// blocked.
///
/// Clones share the threads. The last one that is dropped waits until what was
/// asked for is written; in async code, [`close`](Self::close) waits without
/// holding a thread.
///
/// ```
/// use std::time::Duration;
/// use retry_core::record::{Arguments, New, RecordId};
/// use retry_core::store::{Enqueued, Store};
/// use retry_core::{OperationId, Policy, Safety};
/// use retry_sqlite::SqliteStore;
///
/// # futures::executor::block_on(async {
/// # let folder = std::env::temp_dir().join(format!("retry-sqlite-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let path = folder.join("payments.db");
/// let store = SqliteStore::open(&path)?;
/// let new = New {
///     record: RecordId::new(),
///     operation: OperationId::from("nightly-export"),
///     safety: Safety::Idempotent,
///     policy: Policy::new(5, Duration::from_secs(3600)),
///     arguments: Arguments::of("2026-11-30")?,
///     queue: "exports".to_owned(),
///     code_version: None,
///     keep: Duration::from_secs(86_400),
///     held: None,
///     started: false,
/// };
/// let record = new.record;
/// assert!(matches!(store.enqueue(new).await?, Enqueued::New(_)));
///
/// // Another process, or this one after a crash.
/// let same = SqliteStore::open(&path)?;
/// assert_eq!(same.read(record).await?.unwrap().entries().len(), 1);
/// # same.close().await?;
/// # store.close().await?;
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct SqliteStore {
    shared: Arc<Shared>,
}

struct Shared {
    place: Place,
    wall: Wall,
    limits: Limits,
    /// None once it was closed, and in a store that only reads.
    writer: RwLock<Option<Sender<WriterMessage>>>,
    reader: RwLock<Option<Sender<ReaderMessage>>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    is_read_only: bool,
}

impl SqliteStore {
    /// Opens the file for writing, and makes it where there is none: as
    /// [`builder`](Self::builder) without settings.
    ///
    /// # Errors
    /// As [`SqliteStoreBuilder::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::builder(path.as_ref()).open()
    }

    /// Opens a file that there is, for reading, while others may write it.
    ///
    /// # Errors
    /// As [`SqliteStoreBuilder::open_read_only`].
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::builder(path.as_ref()).open_read_only()
    }

    /// Settings for the file at this path.
    pub fn builder(path: impl Into<PathBuf>) -> SqliteStoreBuilder {
        SqliteStoreBuilder::new(path.into())
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        self.shared.place.path()
    }

    /// Closes the file for all clones, once what was asked for is written.
    /// Whatever is asked for later is [`Closed`](StoreError::Closed).
    pub fn close(&self) -> Reply<()> {
        let (sender, receiver) = oneshot::channel();
        self.shared.end(Some(sender));
        // A thread that has ended has nothing left to write.
        Box::pin(async { receiver.await.unwrap_or(Ok(())) })
    }

    pub(crate) fn start(settings: SqliteStoreBuilder, access: Access) -> Result<Self, StoreError> {
        let SqliteStoreBuilder { path, wall, limits, busy_wait } = settings;
        let place = file::locate(&path)?;
        file::check(&place)?;
        let session = |access| {
            let connection = file::connect(&place, access, busy_wait)?;
            Ok::<_, StoreError>(Session {
                connection,
                identity: Identity::at(&place),
                place: place.clone(),
                wall: wall.clone(),
                time: Cell::default(),
                limits,
                busy_wait,
                policies: Policies::default(),
                heartbeat: Timestamp::default(),
            })
        };
        let is_read_only = access == Access::ReadOnly;
        let mut writing = if is_read_only { None } else { Some(session(Access::Write)?) };
        if let Some(session) = &mut writing {
            session.sign_in()?;
        }
        let reading = session(if is_read_only { Access::ReadOnly } else { Access::Read })?;

        let waiting = Arc::new(Waiting::default());
        let (reader, messages) = mpsc::channel();
        let mut threads = Vec::new();
        let mut writer = None;
        if let Some(session) = writing {
            let (sender, messages) = mpsc::channel();
            let reader = reader.clone();
            let thread = Writer { session, messages, reader, waiting: waiting.clone() };
            threads.push(spawn(&place, "retry-sqlite-write", || thread.run())?);
            writer = Some(sender);
        }
        let thread = Reader::new(reading, messages, waiting);
        threads.push(spawn(&place, "retry-sqlite-read", || thread.run())?);
        let shared = Shared {
            place,
            wall,
            limits,
            writer: RwLock::new(writer),
            reader: RwLock::new(Some(reader)),
            threads: Mutex::new(threads),
            is_read_only,
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Asked for when this returns, whether or not the reply is waited for.
    pub(crate) fn write<T: Send + 'static>(
        &self,
        weight: usize,
        act: impl FnMut(&mut Book<'_>) -> Kept<T> + Send + 'static,
    ) -> Reply<T> {
        if self.shared.is_read_only {
            return Box::pin(ready(Err(self.shared.place.read_only())));
        }
        let (task, reply) = ask(weight, act);
        self.tell_writer(WriterMessage::Write(task));
        reply
    }

    /// Behind what this process asked to write before.
    fn read_behind<T: Send + 'static>(
        &self,
        act: impl FnMut(&mut Book<'_>) -> Kept<T> + Send + 'static,
    ) -> Reply<T> {
        let (task, reply) = ask(0, act);
        if self.shared.is_read_only {
            self.tell_reader(ReaderMessage::Read(task));
        } else {
            self.tell_writer(WriterMessage::Read(task));
        }
        reply
    }

    /// A message that nobody takes is dropped, and its reply says `Closed`.
    fn tell_writer(&self, message: WriterMessage) {
        let writer = self.shared.writer.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(writer) = &*writer {
            let _ = writer.send(message);
        }
    }

    fn tell_reader(&self, message: ReaderMessage) {
        let reader = self.shared.reader.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(reader) = &*reader {
            let _ = reader.send(message);
        }
    }
}

impl Store for SqliteStore {
    fn enqueue(&self, new: New) -> Reply<Enqueued> {
        self.write(1, move |book| book.enqueue(&new))
    }

    fn commit(&self, writes: Vec<Write>) -> Reply<Vec<Result<Head, Refused>>> {
        self.write(writes.len(), move |book| book.commit(&writes))
    }

    fn post(&self, write: Write) {
        drop(self.commit(vec![write]));
    }

    fn claim(&self, due: Due) -> Reply<Vec<Claimed>> {
        self.write(due.limit, move |book| book.claim(&due))
    }

    fn reclaim(&self, limit: usize) -> Reply<Vec<Head>> {
        self.write(limit, move |book| book.reclaim(limit))
    }

    fn find(&self, operation: OperationId) -> Reply<Option<Record>> {
        self.read_behind(move |book| book.find(&operation))
    }

    fn read(&self, record: RecordId) -> Reply<Option<Record>> {
        self.read_behind(move |book| book.read(record))
    }

    fn list(&self, list: List) -> Reply<Vec<Head>> {
        self.read_behind(move |book| book.list(&list))
    }

    fn freed(&self, record: RecordId) -> Reply<()> {
        // Not through the store itself, which a reply must not keep open.
        let reader = self.shared.reader.read().unwrap_or_else(PoisonError::into_inner).clone();
        let wall = self.shared.wall.clone();
        Box::pin(async move {
            loop {
                let (waiter, mut is_free) = oneshot::channel();
                let (held, left) = oneshot::channel();
                if let Some(reader) = &reader {
                    let _ = reader.send(ReaderMessage::Watch { record, waiter, held });
                } else {
                    return Err(StoreError::Closed);
                }
                let left = left.await.map_err(|_| StoreError::Closed)?;
                // Looked at by the reader as time passes. A clock that only moves when
                // somebody waits on it has to know.
                let mut timer = wall.given().and_then(|clock| {
                    clock.now().checked_add(left).map(|at| clock.sleep_until(at))
                });
                let is_free = poll_fn(|cx| {
                    if let Poll::Ready(told) = std::pin::Pin::new(&mut is_free).poll(cx) {
                        return Poll::Ready(Some(told.map_err(|_| StoreError::Closed)));
                    }
                    let timer = timer.as_mut().map(|timer| timer.as_mut().poll(cx));
                    if timer.is_some_and(|timer| timer.is_ready()) {
                        return Poll::Ready(None);
                    }
                    Poll::Pending
                });
                if let Some(told) = is_free.await {
                    return told;
                }
            }
        })
    }

    fn retain(&self, limit: usize) -> Reply<usize> {
        self.write(limit, move |book| book.retain(limit))
    }

    fn limits(&self) -> Limits {
        self.shared.limits
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").field("path", &self.path()).finish_non_exhaustive()
    }
}

impl Shared {
    /// Takes no more questions. Each thread ends behind those that it has.
    fn end(&self, closed: Option<oneshot::Sender<Result<(), StoreError>>>) {
        let (writer, reader) = (take(&self.writer), take(&self.reader));
        match (writer, closed) {
            (Some(writer), Some(closed)) => {
                let _ = writer.send(WriterMessage::Close(closed));
            }
            (Some(writer), None) => drop(writer),
            // There is no writer that ends it.
            (None, closed) if self.is_read_only => {
                let tell = move || {
                    let _ = closed.map(|closed| closed.send(Ok(())));
                };
                let _ = reader.map(|reader| reader.send(ReaderMessage::End(Box::new(tell))));
            }
            (None, _) => {}
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.end(None);
        let threads = self.threads.get_mut().unwrap_or_else(PoisonError::into_inner);
        // A waker that one of them calls may drop the last clone: they end by each other,
        // and then nobody waits for either.
        let here = thread::current().id();
        if threads.iter().all(|thread| thread.thread().id() != here) {
            for thread in threads.drain(..) {
                let _ = thread.join();
            }
        }
    }
}

fn take<T>(sender: &RwLock<Option<T>>) -> Option<T> {
    sender.write().unwrap_or_else(PoisonError::into_inner).take()
}

fn spawn(
    place: &Place,
    name: &str,
    run: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>, StoreError> {
    let thread = thread::Builder::new().name(name.to_owned()).spawn(run);
    thread.map_err(|error: io::Error| {
        place.cannot_open(format!("no thread can be started for it: {error}"))
    })
}
