//! What the bodies of attempts did, written down in another process than theirs.

use std::collections::{HashMap, HashSet};
use std::io::{self, BufRead, BufReader, Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use serde::{Deserialize, Serialize};

/// The book of the tests' own process: which attempts were polled, and what they
/// did. It plays the other side, recognizes a repeated call by its key, and knows
/// nothing of the store.
#[derive(Debug)]
pub struct Book {
    path: PathBuf,
    pages: Arc<Mutex<Pages>>,
}

/// An attempt whose body was polled.
#[derive(Clone, Debug)]
pub struct Poll {
    /// The operation's number.
    pub operation: u32,
    /// The attempt's number.
    pub attempt: u32,
    /// The key that it sent; none where it has none.
    pub key: Option<String>,
    /// Whether it takes effect.
    pub succeeds: bool,
    /// The process.
    pub worker: u32,
    /// When.
    pub at: Instant,
}

/// What the other side answers: the same for the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Receipt {
    /// The operation's number.
    pub operation: u32,
    /// The attempt that took effect.
    pub attempt: u32,
    /// How many effects there were before, of all operations.
    pub effect: u32,
}

#[derive(Debug, Default)]
struct Pages {
    polls: Vec<Poll>,
    effects: Vec<Receipt>,
    by_key: HashMap<String, Receipt>,
    /// Operations whose gate is open.
    open: HashSet<u32>,
    /// Those who wait at a gate.
    waiting: Vec<(u32, UnixStream)>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Call {
    Polled {
        operation: u32,
        attempt: u32,
        key: Option<String>,
        succeeds: bool,
        worker: u32,
    },
    Gate {
        operation: u32,
    },
    /// Whatever was sent before is written down.
    Here,
}

impl Book {
    /// Opens a book, written to by way of a socket at this path.
    ///
    /// # Errors
    /// The socket cannot be made.
    pub fn open_at(path: PathBuf) -> io::Result<Self> {
        let listener = UnixListener::bind(&path)?;
        let pages = Arc::<Mutex<Pages>>::default();
        let shared = Arc::clone(&pages);
        thread::spawn(move || {
            // One after the other: the order is that of the calls. Whoever is
            // killed before it has written a line was not polled.
            for stream in listener.incoming().flatten() {
                let _ = answer(stream, &shared);
            }
        });
        Ok(Self { path, pages })
    }

    /// Where it is written to.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Everything that was sent so far, in order.
    ///
    /// # Errors
    /// It cannot be asked.
    pub fn polls(&self) -> io::Result<Vec<Poll>> {
        self.catch_up()?;
        Ok(self.pages().polls.clone())
    }

    /// The attempts of this operation that were polled.
    ///
    /// # Errors
    /// It cannot be asked.
    pub fn attempts(&self, operation: u32) -> io::Result<Vec<u32>> {
        let polls = self.polls()?.into_iter();
        Ok(polls.filter(|poll| poll.operation == operation).map(|poll| poll.attempt).collect())
    }

    /// What took effect, in order.
    ///
    /// # Errors
    /// It cannot be asked.
    pub fn effects(&self) -> io::Result<Vec<Receipt>> {
        self.catch_up()?;
        Ok(self.pages().effects.clone())
    }

    /// Lets those through who wait, or will, at the gate of this operation.
    pub fn open(&self, operation: u32) {
        let mut pages = self.pages();
        pages.open.insert(operation);
        let (through, wait) = pages.waiting.drain(..).partition(|(waits, _)| *waits == operation);
        pages.waiting = wait;
        for (_, mut stream) in through {
            // It may have died there.
            let _ = stream.write_all(b"\n");
        }
    }

    fn catch_up(&self) -> io::Result<()> {
        call(&self.path, &Call::Here).map(drop)
    }

    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn answer(stream: UnixStream, pages: &Mutex<Pages>) -> io::Result<()> {
    let mut line = String::new();
    let mut reader = BufReader::new(stream);
    if reader.read_line(&mut line)? == 0 {
        return Ok(());
    }
    let mut stream = reader.into_inner();
    let mut pages = pages.lock().unwrap_or_else(PoisonError::into_inner);
    match serde_json::from_str(&line)? {
        Call::Here => writeln!(stream),
        Call::Gate { operation } if pages.open.contains(&operation) => writeln!(stream),
        Call::Gate { operation } => {
            pages.waiting.push((operation, stream));
            Ok(())
        }
        Call::Polled { operation, attempt, key, succeeds, worker } => {
            let at = Instant::now();
            pages.polls.push(Poll { operation, attempt, key: key.clone(), succeeds, worker, at });
            let receipt = succeeds.then(|| pages.take_effect(operation, attempt, key));
            writeln!(stream, "{}", serde_json::to_string(&receipt)?)
        }
    }
}

impl Pages {
    fn take_effect(&mut self, operation: u32, attempt: u32, key: Option<String>) -> Receipt {
        if let Some(receipt) = key.as_ref().and_then(|key| self.by_key.get(key)) {
            return *receipt;
        }
        let receipt = Receipt { operation, attempt, effect: self.effects.len() as u32 };
        self.effects.push(receipt);
        if let Some(key) = key {
            self.by_key.insert(key, receipt);
        }
        receipt
    }
}

/// The other end of a [`Book`], in a worker.
#[derive(Clone, Debug)]
pub struct Pen(PathBuf);

impl Pen {
    /// Writes into the book at this path.
    pub const fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// Writes down that a body is polled: before this returns, it is in the book.
    /// Answers the receipt where the attempt takes effect.
    ///
    /// # Errors
    /// The book's process is gone.
    pub fn polled(
        &self,
        operation: u32,
        attempt: u32,
        key: Option<String>,
        succeeds: bool,
    ) -> io::Result<Option<Receipt>> {
        let worker = std::process::id();
        let answer = call(&self.0, &Call::Polled { operation, attempt, key, succeeds, worker })?;
        Ok(serde_json::from_str(&answer)?)
    }

    /// Waits at the gate of this operation, and blocks the thread.
    ///
    /// # Errors
    /// The book's process is gone.
    pub fn block_at_gate(&self, operation: u32) -> io::Result<()> {
        call(&self.0, &Call::Gate { operation }).map(drop)
    }

    /// Waits at the gate of this operation.
    ///
    /// # Errors
    /// The book's process is gone.
    pub async fn wait_at_gate(&self, operation: u32) -> io::Result<()> {
        use tokio::io::AsyncReadExt as _;

        // Said at once: the book listens to one after the other.
        let stream = say(&self.0, &Call::Gate { operation })?;
        stream.set_nonblocking(true)?;
        let mut stream = tokio::net::UnixStream::from_std(stream)?;
        stream.read_u8().await.map(drop)
    }
}

fn call(path: &Path, call: &Call) -> io::Result<String> {
    let mut stream = say(path, call)?;
    let mut answer = String::new();
    let mut first = [0];
    // A gate closes with its book.
    stream.read_exact(&mut first)?;
    answer.push(char::from(first[0]));
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

fn say(path: &Path, call: &Call) -> io::Result<UnixStream> {
    let mut stream = UnixStream::connect(path)?;
    stream.write_all((serde_json::to_string(call)? + "\n").as_bytes())?;
    Ok(stream)
}
