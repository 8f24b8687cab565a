//! Stores with operations in them, on a calendar of the test's.

use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use futures::executor::block_on;
use retry_core::clock::VirtualClock;
use retry_core::record::{
    Arguments, Change, DelayChosen, Ended, Event, Fence, Finality, Head, Holder, New, RecordId,
};
use retry_core::store::{Store as _, Write};
use retry_core::{
    Decision, Failure, IdempotencyKey, Kind, OperationId, Policy, Safety, Situation, decide,
};
use retry_sqlite::SqliteStore;
use rusqlite::{Connection, params};
use sha2::{Digest as _, Sha256};

use crate::run::{Run, retryctl};

pub(crate) const SECOND: Duration = Duration::from_secs(1);

/// A file of its own, which is written by the library and read by the program.
pub(crate) struct Store {
    path: PathBuf,
    clock: VirtualClock,
    store: SqliteStore,
    made: u32,
}

/// An operation whose attempt is under way.
pub(crate) struct Running {
    pub(crate) head: Head,
    fence: Fence,
}

impl Store {
    /// An empty one, in November 2026.
    pub(crate) fn new(name: &str) -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("retries.db");
        let clock = VirtualClock::manual();
        clock.set_utc(UNIX_EPOCH + Duration::from_secs(1_795_000_000));
        let store = SqliteStore::builder(&path).clock(clock.clone()).open().unwrap();
        Self { path, clock, store, made: 0 }
    }

    /// One of each that is worth a look.
    pub(crate) fn with_one_of_each(name: &str) -> Self {
        let mut store = Self::new(name);
        let charge = store.begins("payments.charge", "order-1", Safety::Keyed);
        store.succeeds(charge, r#"{"receipt":7}"#);

        let mut charge = store.begins("payments.charge", "order-2", Safety::Keyed);
        for _ in 0..2 {
            store.fails(&mut charge, busy(), "gateway answered 503");
            store.starts(&mut charge);
        }
        store.fails(&mut charge, busy(), "gateway answered 503");

        let mut label = store.begins("labels.print", "parcel-1", Safety::AtMostOnce);
        store.fails(&mut label, busy(), "printer went away");

        let mut charge = store.begins("payments.charge", "order-3", Safety::Keyed);
        store.fails(&mut charge, busy().after(2 * SECOND), "gateway is busy");

        store.begins("labels.print", "parcel-2", Safety::AtMostOnce);
        store
    }

    /// `retryctl` on this store.
    pub(crate) fn ctl(&self, line: &str) -> Run {
        let (command, rest) = line.split_once(' ').unwrap_or((line, ""));
        retryctl(&format!("{command} --store {} {rest}", self.path.display()))
    }

    /// The same, as JSON.
    pub(crate) fn json(&self, line: &str, code: i32) -> serde_json::Value {
        serde_json::from_str(&self.ctl(&format!("{line} --json")).prints(code)).unwrap()
    }

    pub(crate) fn path(&self) -> &str {
        self.path.to_str().unwrap()
    }

    /// Begins an operation, whose first attempt is under way.
    pub(crate) fn begins(&mut self, name: &str, key: &str, safety: Safety) -> Running {
        self.made += 1;
        let record: RecordId = format!("01J{:023}", self.made).parse().unwrap();
        let holder: Holder = "01J0000000000000000000000W-1".parse().unwrap();
        let key = IdempotencyKey::derive(name, key).unwrap();
        let new = New {
            record,
            operation: OperationId::keyed(name.to_owned(), key),
            safety,
            policy: Policy::new(3, 60 * SECOND),
            arguments: Arguments::of(&serde_json::json!({ "amount": 5, "to": "Bo" })).unwrap(),
            queue: String::new(),
            code_version: Some("1.4.2".to_owned()),
            keep: 3600 * SECOND,
            held: Some((holder, 30 * SECOND)),
            started: true,
        };
        block_on(self.store.enqueue(new)).unwrap();
        let head = block_on(self.store.read(record)).unwrap().unwrap().head().clone();
        Running { head, fence: Fence { epoch: 1, holder } }
    }

    /// The attempt that is under way fails a second later. What follows is decided.
    pub(crate) fn fails(&self, running: &mut Running, failure: Failure, error: &str) {
        self.clock.advance(SECOND);
        let head = &running.head;
        let elapsed = head.elapsed + SECOND;
        let finished = Event::AttemptFinished {
            attempt: head.started,
            elapsed,
            ended: Ended::Failed,
            failure: Some(failure),
            error: Some(error.to_owned()),
            situation: Situation::new(),
        };
        let decided = decided(head, elapsed, &failure);
        let keeps = matches!(decided, Event::DelayChosen(_));
        let (fence, events) = (running.fence, vec![finished, decided]);
        self.write(running, Change::Append { fence, events, keeps, result: None });
    }

    /// The planned attempt starts when it is due.
    pub(crate) fn starts(&self, running: &mut Running) {
        let start = running.head.planned.unwrap();
        self.clock.advance(start - running.head.elapsed);
        self.write(running, Change::start(running.fence, running.head.started + 1, start));
    }

    /// The attempt that is under way succeeds a second later.
    pub(crate) fn succeeds(&self, mut running: Running, result: &str) {
        self.clock.advance(SECOND);
        let (attempt, elapsed) = (running.head.started, running.head.elapsed + SECOND);
        let change = Change::complete(running.fence, attempt, elapsed, result.to_owned());
        self.write(&mut running, change);
    }

    pub(crate) fn passes(&self, span: Duration) {
        self.clock.advance(span);
    }

    fn write(&self, running: &mut Running, change: Change) {
        let write = Write { record: running.head.record, change };
        running.head = block_on(self.store.commit(vec![write])).unwrap().remove(0).unwrap();
    }

    /// Replaces a text in the entries of a record, and ties them together anew: what
    /// only another program would write.
    pub(crate) fn forge(&self, record: &str, from: &str, to: &str) {
        self.damage("DROP TRIGGER event_is_never_changed");
        let connection = Connection::open(&self.path).unwrap();
        let mut entries = connection
            .prepare(
                "SELECT seq, at, epoch, attempt, body FROM event WHERE operation = ? ORDER BY seq",
            )
            .unwrap();
        let entries = entries.query_map([record], |row| {
            let numbers: [i64; 4] = [row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?];
            Ok((numbers, row.get::<_, String>(4)?.replace(from, to)))
        });
        let mut sum = [0; 16];
        for (numbers, body) in entries.unwrap().map(Result::unwrap) {
            let mut hasher = Sha256::new_with_prefix(sum);
            numbers.iter().for_each(|number| hasher.update(number.to_be_bytes()));
            hasher.update(&body);
            sum.copy_from_slice(&hasher.finalize()[..16]);
            let sql = "UPDATE event SET body = ?, sum = ? WHERE operation = ? AND seq = ?";
            connection.execute(sql, params![body, sum, record, numbers[0]]).unwrap();
        }
        connection
            .execute("UPDATE operation SET sum = ? WHERE id = ?", params![sum, record])
            .unwrap();
    }

    /// Changes the file as nothing of ours does.
    pub(crate) fn damage(&self, sql: &str) {
        let connection = Connection::open(&self.path).unwrap();
        connection.execute_batch(sql).unwrap();
    }
}

/// What follows the failure of the attempt that is under way, by the pure function.
fn decided(head: &Head, elapsed: Duration, failure: &Failure) -> Event {
    let mut ledger = head.ledger();
    ledger.attempt_failed(elapsed, failure);
    let situation = Situation::new().safety(head.safety);
    match decide(&head.policy, &ledger, &situation, &head.operation, Some(failure)) {
        Decision::ScheduleRetry(wait) => Event::DelayChosen(DelayChosen::from(&wait)),
        Decision::Stop(stop) => {
            let (reason, text) = (stop.reason(), stop.to_string());
            match reason.finality() {
                Finality::Review => Event::ReviewOpened { elapsed, reason, text },
                _ => Event::Dead { elapsed, reason, text, situation: Situation::new() },
            }
        }
        decision => panic!("{decision:?}"),
    }
}

pub(crate) fn busy() -> Failure {
    Failure::transient().with_kind(Kind::Server).with_code(503)
}
