//! Retrying a whole SQLite transaction when the database is busy.
#![allow(clippy::unwrap_used, reason = "in helpers of tests")]

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures::executor::block_on;
use futures::future::join;
use futures::lock::Mutex;
use retry_core::clock::{Clock, VirtualClock};
use retry_core::observe::Recorder;
use retry_core::{Effect, Failure, Operation, Policy, Retrier, StopReason, Stopped, retryable};
use retry_recipes::{Folder, Writer, classify, open};
use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior, ffi};

struct Accounts {
    connection: Mutex<Connection>,
    retries: Retrier,
}

impl Accounts {
    #[retryable(
        name = "accounts.transfer",
        at_most_once, // repeats only what was rolled back
        max_attempts = 5,
        deadline = "10s",
        classify = classify,
        with = self.retries,
    )]
    async fn transfer(
        &self,
        from: i64,
        to: i64,
        amount: i64,
    ) -> Result<(), Stopped<rusqlite::Error>> {
        let mut connection = self.connection.lock().await;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for (account, change) in [(from, -amount), (to, amount)] {
            let add = "UPDATE account SET balance = balance + ?2 WHERE id = ?1 RETURNING id";
            transaction.query_one(add, (account, change), |_| Ok(()))?; // no such account: no row
        }
        let tell = "INSERT INTO outbox (ask) VALUES (?1)"; // what is for others to do
        transaction.execute(tell, [format!("tell {to} of {amount} from {from}")])?;
        transaction.commit()
    }
}

/// Accounts 1 and 2 with 100 each.
struct Bank {
    folder: Folder,
    accounts: Accounts,
    recorder: Recorder,
}

/// What somebody else does meanwhile.
const DEPOSIT: &str = "UPDATE account SET balance = balance + 5 WHERE id = 1";

impl Bank {
    fn new() -> Self {
        let folder = Folder::new().unwrap();
        let connection = open(&folder.database()).unwrap();
        connection
            .execute_batch(
                "CREATE TABLE account (
                     id INTEGER PRIMARY KEY,
                     balance INTEGER NOT NULL CHECK (balance >= 0)
                 ) STRICT;
                 CREATE TABLE outbox (id INTEGER PRIMARY KEY, ask TEXT NOT NULL) STRICT;
                 INSERT INTO account VALUES (1, 100), (2, 100);",
            )
            .unwrap();
        let recorder = Recorder::new();
        let retries = Retrier::builder().observer(recorder.clone()).build();
        let accounts = Accounts { connection: Mutex::new(connection), retries };
        Self { folder, accounts, recorder }
    }

    fn connect(&self) -> Connection {
        open(&self.folder.database()).unwrap()
    }

    fn hold(&self) -> Writer {
        Writer::hold(&self.folder.database(), DEPOSIT).unwrap()
    }

    fn transfer(&self, from: i64, to: i64, amount: i64) -> Result<(), Stopped<rusqlite::Error>> {
        block_on(VirtualClock::new().scope(self.accounts.transfer(from, to, amount)))
    }

    fn balances(&self) -> [i64; 2] {
        let connection = self.connect();
        [1, 2].map(|account| {
            let sql = "SELECT balance FROM account WHERE id = ?1";
            connection.query_one(sql, [account], |row| row.get(0)).unwrap()
        })
    }

    fn asks(&self) -> i64 {
        self.connect().query_one("SELECT count(*) FROM outbox", (), |row| row.get(0)).unwrap()
    }

    fn story(&self) -> String {
        self.recorder.operations().iter().map(|id| self.recorder.story(id)).collect()
    }
}

/// Lets go of the lock at this time of the clock.
async fn commit_at(clock: &VirtualClock, at: Duration, writer: Writer) {
    clock.sleep_until(clock.now() + at).await;
    writer.commit().unwrap();
}

const LATER: Duration = Duration::from_millis(300);

#[test]
fn the_whole_transaction_is_retried_until_the_lock_is_free() {
    let bank = Bank::new();
    let writer = bank.hold();
    let clock = VirtualClock::new();
    let both = join(bank.accounts.transfer(1, 2, 30), commit_at(&clock, LATER, writer));
    block_on(clock.clone().scope(both)).0.unwrap();
    assert_eq!((bank.balances(), bank.asks()), ([75, 130], 1));
    assert_eq!(
        bank.story(),
        "\
accounts.transfer#0000000000000000-1
  attempt 1 at 0s
    failed at 0s: transient, effect none, other (database is locked)
    waits 73.223716ms (computed, ceiling 100ms)
  attempt 2 at 73.223716ms
    failed at 73.223716ms: transient, effect none, other (database is locked)
    waits 158.371339ms (computed, ceiling 200ms)
  attempt 3 at 231.595055ms
    failed at 231.595055ms: transient, effect none, other (database is locked)
    waits 375.033758ms (computed, ceiling 400ms)
  attempt 4 at 606.628813ms
    succeeded at 606.628813ms after 4 attempts
"
    );
}

#[test]
fn a_lock_that_is_never_free_uses_up_the_attempts_and_changes_nothing() {
    let bank = Bank::new();
    let _writer = bank.hold();
    let stopped = bank.transfer(1, 2, 30).unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::AttemptsExhausted, 5));
    assert!(stopped.failures().iter().all(|failed| failed.failure().effect() == Effect::None));
    assert_eq!((bank.balances(), bank.asks()), ([100, 100], 0));
}

/// The first half was done, and is undone.
#[test]
fn every_other_error_is_answered_as_it_is() {
    let bank = Bank::new();
    let stopped = bank.transfer(1, 2, 130).unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::FailPermanent, 1));
    let code = stopped.error().and_then(rusqlite::Error::sqlite_extended_error_code);
    assert_eq!(code, Some(ffi::SQLITE_CONSTRAINT_CHECK));
    assert_eq!((bank.balances(), bank.asks()), ([100, 100], 0));

    let stopped = bank.transfer(1, 3, 30).unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::FailPermanent, 1));
    assert!(matches!(stopped.error(), Some(rusqlite::Error::QueryReturnedNoRows)));
    assert_eq!((bank.balances(), bank.asks()), ([100, 100], 0));
}

static ASKED_TO_WAIT: AtomicU32 = AtomicU32::new(0);

/// What a busy timeout is made of: SQLite asks it whether to go on waiting.
fn do_not_wait(_: i32) -> bool {
    ASKED_TO_WAIT.fetch_add(1, Ordering::Relaxed);
    false
}

/// A transaction that has read cannot wait for the lock: what it read may be old
/// by then. SQLite does not ask the busy handler, so no timeout is long enough.
#[test]
fn a_deferred_transaction_that_has_read_is_refused_at_once() {
    let bank = Bank::new();
    let mut connection = bank.connect();
    connection.busy_handler(Some(do_not_wait)).unwrap();
    let read = "SELECT balance FROM account WHERE id = 1";
    let balance = |transaction: &Transaction<'_>| -> rusqlite::Result<i64> {
        transaction.query_one(read, (), |row| row.get(0))
    };

    // Somebody else holds the lock.
    let deferred = connection.transaction_with_behavior(TransactionBehavior::Deferred).unwrap();
    assert_eq!(balance(&deferred), Ok(100));
    let writer = bank.hold();
    let error = deferred.execute(DEPOSIT, ()).unwrap_err();
    assert_eq!(error.sqlite_extended_error_code(), Some(ffi::SQLITE_BUSY));

    // Somebody else had it, and is gone. The transaction can never write any more.
    writer.commit().unwrap();
    for _ in 0..3 {
        let error = deferred.execute(DEPOSIT, ()).unwrap_err();
        assert_eq!(error.sqlite_extended_error_code(), Some(ffi::SQLITE_BUSY_SNAPSHOT));
        assert_eq!(classify(&error), Failure::transient().no_effect());
    }
    assert_eq!(balance(&deferred), Ok(100));
    deferred.rollback().unwrap();
    assert_eq!(ASKED_TO_WAIT.load(Ordering::Relaxed), 0);

    // One that takes the lock before it reads would have waited for it.
    let writer = bank.hold();
    let immediate = TransactionBehavior::Immediate;
    let error = connection.transaction_with_behavior(immediate).unwrap_err();
    assert_eq!(error.sqlite_extended_error_code(), Some(ffi::SQLITE_BUSY));
    assert_eq!(ASKED_TO_WAIT.load(Ordering::Relaxed), 1);

    // And reads what is there when it has it.
    writer.commit().unwrap();
    let transaction = connection.transaction_with_behavior(immediate).unwrap();
    assert_eq!(balance(&transaction), Ok(110));
}

/// The second attempt reads again, so nothing is computed from the old balance.
#[test]
fn a_transaction_begun_on_an_old_snapshot_is_run_anew() {
    let bank = Bank::new();
    let writer = Cell::new(Some(bank.hold()));
    let policy = Policy::new(3, Duration::from_secs(10));
    let operation = Operation::at_most_once("accounts.double", policy).classify(classify);
    let doubled = operation.run(|_| async {
        let mut connection = bank.accounts.connection.lock().await;
        let deferred = connection.transaction()?;
        let sql = "SELECT balance FROM account WHERE id = 1";
        let balance: i64 = deferred.query_one(sql, (), |row| row.get(0))?;
        if let Some(writer) = writer.take() {
            writer.commit()?;
        }
        deferred.execute("UPDATE account SET balance = ?1 WHERE id = 1", [2 * balance])?;
        deferred.commit()?;
        Ok(balance)
    });
    assert_eq!(block_on(VirtualClock::new().scope(doubled)).unwrap(), 105);
    assert_eq!(bank.balances(), [210, 100]);
}

/// A call in the attempt is made as often as there are attempts. What the
/// transaction writes for others to do is there once.
#[test]
fn a_call_beside_the_transaction_is_made_by_every_attempt() {
    let bank = Bank::new();
    let writer = bank.hold();
    let clock = VirtualClock::new();
    let told = Cell::new(0);
    let policy = Policy::new(5, Duration::from_secs(10));
    let operation = Operation::at_most_once("accounts.tell", policy).classify(classify);
    let tell = operation.run(|_| async {
        told.set(told.get() + 1); // as a request to somebody else
        let mut connection = bank.accounts.connection.lock().await;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute("INSERT INTO outbox (ask) VALUES ('tell')", ())?;
        transaction.commit()
    });
    block_on(clock.clone().scope(join(tell, commit_at(&clock, LATER, writer)))).0.unwrap();
    assert_eq!((told.get(), bank.asks()), (4, 1));
}

/// A call in an open transaction keeps everybody else from writing for as long
/// as it takes, its retries and their waits included, and it is made for a
/// transaction that may never be committed.
#[test]
fn a_call_inside_the_transaction_holds_the_lock_and_is_not_rolled_back() {
    let bank = Bank::new();
    let other = bank.connect();
    let clock = VirtualClock::new();
    let told = Cell::new(0);
    let refused = Cell::new(0);
    let policy = Policy::new(3, Duration::from_secs(10));
    let transfer = async {
        let mut connection = bank.accounts.connection.lock().await;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute(DEPOSIT, ())?;
        let call = Operation::idempotent("mail.tell", policy);
        let call = call.classify(|_: &&str| Failure::transient()).run(|attempt| {
            let (told, refused, other) = (&told, &refused, &other);
            async move {
                told.set(told.get() + 1);
                if other.execute(DEPOSIT, ()).is_err_and(|error| is_busy(&error)) {
                    refused.set(refused.get() + 1);
                }
                if attempt.is_last() { Ok(()) } else { Err("busy") }
            }
        });
        call.await.unwrap();
        // Account 2 has less.
        transaction.execute("UPDATE account SET balance = balance - 130 WHERE id = 2", ())?;
        transaction.commit()
    };
    let result = block_on(clock.clone().scope(transfer));
    let code = result.unwrap_err().sqlite_extended_error_code();
    assert_eq!(code, Some(ffi::SQLITE_CONSTRAINT_CHECK));
    assert_eq!((told.get(), refused.get()), (3, 3));
    assert!(!clock.elapsed().is_zero());
    assert_eq!(bank.balances(), [100, 100]);
}

fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}
