//! What a worker says to whoever started it, a line each.

use std::io::{self, Write as _};
use std::process;

use retry_core::StopReason;
use retry_core::record::Head;
use serde::{Deserialize, Serialize};

use crate::book::Receipt;
use crate::point::Point;

/// What a worker says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Said {
    /// Its store is open.
    Open,
    /// Its store cannot be opened.
    CannotOpen {
        /// In the store's words.
        error: String,
    },
    /// The store has acknowledged this. Said before anybody acts on it.
    Kept(Kept),
    /// The store has removed what had expired.
    Removed {
        /// Records and keys.
        removed: usize,
    },
    /// A call has its answer.
    Answered(Answer),
    /// A call was answered, and is made again: the stop is not final.
    Again(Answer),
    /// What was told is done.
    Did {
        /// In the words in which it was told.
        command: String,
    },
    /// It dies here: its last word.
    Dies {
        /// Where.
        point: Point,
    },
}

/// The state of a record that was acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// The record's id.
    pub record: String,
    /// How many entries it has.
    pub seq: u32,
    /// The checksum of the last one, and so of all.
    pub sum: String,
    /// Attempts started.
    pub started: u32,
    /// Of these, those that were never polled.
    pub released: u32,
    /// How often its holder was lost.
    pub crashes: u32,
    /// How often it was deferred.
    pub deferrals: u32,
    /// How often it was claimed.
    pub epoch: u64,
    /// Logical time, in nanoseconds.
    pub elapsed: u128,
    /// Where it stands.
    pub phase: String,
}

/// What a caller was told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The operation's number.
    pub operation: u32,
    /// Its result.
    pub receipt: Option<Receipt>,
    /// The reason, where there is none.
    pub stopped: Option<String>,
    /// Where the store is the reason: its error, as Rust shows it.
    pub error: Option<String>,
}

impl Said {
    /// Says it, at once and in one piece. A worker that nobody listens to ends.
    pub fn say(&self) {
        let line = serde_json::to_string(self).map(|line| line + "\n").unwrap_or_default();
        if line.is_empty() || io::stdout().write_all(line.as_bytes()).is_err() {
            process::exit(1);
        }
    }
}

impl Answer {
    /// A result.
    pub const fn receipt(operation: u32, receipt: Receipt) -> Self {
        Self { operation, receipt: Some(receipt), stopped: None, error: None }
    }

    /// Why there is none.
    pub fn stopped(operation: u32, reason: StopReason) -> Self {
        let stopped = Some(reason.code().to_owned());
        Self { operation, receipt: None, stopped, error: None }
    }
}

impl Kept {
    /// The state in this head.
    pub fn of(head: &Head) -> Self {
        Self {
            record: head.record.to_string(),
            seq: head.seq,
            sum: head.sum.to_string(),
            started: head.started,
            released: head.released,
            crashes: head.crashes,
            deferrals: head.deferrals,
            epoch: head.lease.epoch,
            elapsed: head.elapsed.as_nanos(),
            phase: head.phase.to_string(),
        }
    }

    /// What only grows, with its names.
    pub fn counts(&self) -> [(&'static str, u128); 7] {
        [
            ("entries", u128::from(self.seq)),
            ("attempts started", u128::from(self.started)),
            ("attempts released", u128::from(self.released)),
            ("crashes", u128::from(self.crashes)),
            ("deferrals", u128::from(self.deferrals)),
            ("claims", u128::from(self.epoch)),
            ("logical time", self.elapsed),
        ]
    }
}
