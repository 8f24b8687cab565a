//! A worker, from outside.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::book::Book;
use crate::said::{Answer, Said};

/// Longer than anything takes: whoever waits that long waits in vain.
pub const LIMIT: Duration = Duration::from_secs(120);

/// A worker's process. Killed when this is dropped.
#[derive(Debug)]
pub struct Worker {
    process: Child,
    tells: Option<ChildStdin>,
    says: Receiver<Said>,
    heard: Vec<Said>,
}

/// How a worker ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By SIGKILL.
    Killed,
    /// By itself, and well.
    Well,
    /// By itself, with an error.
    Failed(Option<i32>),
}

impl Worker {
    /// Starts one, by the program `faults`, on this store.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start<A: AsRef<OsStr>>(
        program: &Path,
        store: &Path,
        book: &Book,
        options: impl IntoIterator<Item = A>,
    ) -> Result<Self> {
        let mut command = Command::new(program);
        command.arg("worker").arg("--store").arg(store).arg("--book").arg(book.path());
        command.args(options).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().context("start a worker")?;
        let tells = process.stdin.take();
        let stdout = process.stdout.take().context("its standard output")?;
        let (sender, says) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                match serde_json::from_str(&line) {
                    Ok(said) => {
                        // Nobody may listen any more.
                        let _ = sender.send(said);
                    }
                    // Never a part of a line: each is written in one piece.
                    Err(error) => eprintln!("a worker said `{line}`: {error}"),
                }
            }
        });
        Ok(Self { process, tells, says, heard: Vec::new() })
    }

    /// Tells it something. One that is gone does not hear it.
    pub fn tell(&mut self, command: &str) {
        if let Some(tells) = &mut self.tells {
            let _ = tells.write_all(format!("{command}\n").as_bytes());
        }
    }

    /// Calls an operation.
    pub fn ask(&mut self, operation: u32) {
        self.tell(&format!("ask {operation}"));
    }

    /// Nothing more is told: it ends when every call is answered.
    pub fn tell_no_more(&mut self) {
        self.tells = None;
    }

    /// Everything that was heard so far.
    pub fn heard(&self) -> &[Said] {
        &self.heard
    }

    /// Listens until it says such a thing.
    ///
    /// # Errors
    /// It ends first, or does not say it for ever.
    pub fn listen_for<T>(&mut self, mut is_it: impl FnMut(&Said) -> Option<T>) -> Result<T> {
        let end = Instant::now() + LIMIT;
        while let Some(said) = self.next(end)? {
            if let Some(found) = is_it(&said) {
                return Ok(found);
            }
        }
        bail!("a worker ended first: {:?}", self.process.wait())
    }

    /// Listens for the answer of an operation.
    ///
    /// # Errors
    /// It ends first, or does not answer for ever.
    pub fn answer_of(&mut self, operation: u32) -> Result<Answer> {
        self.listen_for(|said| match said {
            Said::Answered(answer) if answer.operation == operation => Some(answer.clone()),
            _ => None,
        })
    }

    /// Listens until a call of this operation is to be made again, for such a
    /// reason.
    ///
    /// # Errors
    /// It ends first, or never is.
    pub fn again_of(&mut self, operation: u32, reason: &str) -> Result<Answer> {
        self.listen_for(|said| match said {
            Said::Again(answer)
                if answer.operation == operation && answer.stopped.as_deref() == Some(reason) =>
            {
                Some(answer.clone())
            }
            _ => None,
        })
    }

    /// Kills it, and hears what it has said.
    ///
    /// # Errors
    /// The system says no.
    pub fn kill(&mut self) -> Result<End> {
        self.process.kill()?;
        self.end()
    }

    /// Listens until it ends.
    ///
    /// # Errors
    /// It does not end for ever.
    pub fn end(&mut self) -> Result<End> {
        let end = Instant::now() + LIMIT;
        while self.next(end)?.is_some() {}
        Ok(End::of(self.process.wait()?))
    }

    fn next(&mut self, end: Instant) -> Result<Option<Said>> {
        let left = end.saturating_duration_since(Instant::now());
        match self.says.recv_timeout(left) {
            Ok(said) => {
                self.heard.push(said.clone());
                Ok(Some(said))
            }
            Err(RecvTimeoutError::Disconnected) => Ok(None),
            Err(RecvTimeoutError::Timeout) => {
                let last = self.heard.last();
                bail!("a worker did nothing for {LIMIT:?}; it said last: {last:?}")
            }
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl End {
    fn of(status: ExitStatus) -> Self {
        const SIGKILL: i32 = 9;
        match status.signal() {
            Some(SIGKILL) => Self::Killed,
            _ if status.success() => Self::Well,
            _ => Self::Failed(status.code()),
        }
    }
}
