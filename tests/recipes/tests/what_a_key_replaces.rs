//! A key in the transaction of its effect: it replaces the comparison, and not
//! the retry of the transaction.
#![allow(clippy::unwrap_used, reason = "in helpers of tests")]

use std::time::Duration;

use futures::executor::block_on;
use futures::future::join;
use retry_core::clock::{Clock, VirtualClock};
use retry_core::{Classify, Effect, IdempotencyKey, StopReason, Stopped, retryable};
use retry_recipes::{Folder, Line, Loses, Lost, Writer, classify, open};
use rusqlite::{Connection, TransactionBehavior, ffi};

#[derive(Debug, thiserror::Error, Classify)]
enum WithdrawError {
    #[error(transparent)]
    #[retry(transient)] // it may have committed
    Lost(#[from] Lost),
    #[error("key {0} is that of another withdrawal")]
    #[retry(permanent)]
    KeyReused(IdempotencyKey),
    #[error(transparent)]
    #[retry(with = classify)] // busy is still busy
    Sqlite(#[from] rusqlite::Error),
}

struct Accounts {
    database: Line,
}

impl Accounts {
    /// Takes an amount from an account, for an order; answers the balance after it.
    #[retryable(name = "accounts.withdraw", key = order, max_attempts = 4, deadline = "10s")]
    async fn withdraw(
        &self,
        order: u64,
        account: i64,
        amount: i64,
    ) -> Result<i64, Stopped<WithdrawError>> {
        self.database.ask(|connection| withdraw_once(connection, key, account, amount)).await
    }
}

fn withdraw_once(
    connection: &mut Connection,
    key: IdempotencyKey,
    account: i64,
    amount: i64,
) -> Result<i64, WithdrawError> {
    let id = key.to_string();
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let new = transaction.execute(
        "INSERT INTO withdrawal (key, account, amount) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
        (&id, account, amount),
    )?;
    if new == 1 {
        let take = "UPDATE account SET balance = balance - ?2 WHERE id = ?1 RETURNING balance";
        let balance: i64 = transaction.query_one(take, (account, amount), |row| row.get(0))?;
        let answer = "UPDATE withdrawal SET balance = ?2 WHERE key = ?1";
        transaction.execute(answer, (&id, balance))?;
    }
    let (asked, balance) = transaction.query_one(
        "SELECT account, amount, balance FROM withdrawal WHERE key = ?1",
        [&id],
        |row| Ok(((row.get(0)?, row.get(1)?), row.get(2)?)),
    )?;
    transaction.commit()?;
    if asked == (account, amount) { Ok(balance) } else { Err(WithdrawError::KeyReused(key)) }
}

/// Account 1 with 100, reached over a line that loses this.
struct Bank {
    folder: Folder,
    accounts: Accounts,
}

/// What somebody else does meanwhile.
const DEPOSIT: &str = "UPDATE account SET balance = balance + 5";

impl Bank {
    fn new(lost: impl IntoIterator<Item = Loses>) -> Self {
        let folder = Folder::new().unwrap();
        let connection = open(&folder.database()).unwrap();
        connection
            .execute_batch(
                "CREATE TABLE account (
                     id INTEGER PRIMARY KEY,
                     balance INTEGER NOT NULL CHECK (balance >= 0)
                 ) STRICT;
                 CREATE TABLE withdrawal (
                     key TEXT PRIMARY KEY,
                     account INTEGER NOT NULL,
                     amount INTEGER NOT NULL,
                     balance INTEGER
                 ) STRICT;
                 INSERT INTO account VALUES (1, 100);",
            )
            .unwrap();
        Self { folder, accounts: Accounts { database: Line::new(connection, lost) } }
    }

    fn withdraw(&self, order: u64, amount: i64) -> Result<i64, Stopped<WithdrawError>> {
        block_on(VirtualClock::new().scope(self.accounts.withdraw(order, 1, amount)))
    }

    /// Order 7 takes 30, and what others do at 300 ms.
    fn withdraw_while(&self, others: impl FnOnce()) -> Result<i64, Stopped<WithdrawError>> {
        let clock = VirtualClock::new();
        let later = clock.now() + LATER;
        let others = async {
            clock.sleep_until(later).await;
            others();
        };
        block_on(clock.clone().scope(join(self.accounts.withdraw(7, 1, 30), others))).0
    }

    /// Somebody else's transaction, open.
    fn hold(&self, change: &str) -> Writer {
        Writer::hold(&self.folder.database(), change).unwrap()
    }

    /// The balance, and how many keys there are.
    fn rows(&self) -> (i64, i64) {
        let connection = open(&self.folder.database()).unwrap();
        let sql = "SELECT balance, (SELECT count(*) FROM withdrawal) FROM account";
        connection.query_one(sql, (), |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
    }

    fn asked(&self) -> u32 {
        block_on(self.accounts.database.asked())
    }
}

const LATER: Duration = Duration::from_millis(300);

/// Wherever it was lost, and however often: one withdrawal, and its answer.
#[test]
fn a_lost_answer_to_the_commit_is_given_again() {
    use Loses::{Answer, Request};
    let lines: [&[Loses]; 6] = [
        &[],
        &[Request],
        &[Answer],
        &[Request, Answer],
        &[Answer, Request],
        &[Answer, Answer, Answer],
    ];
    for lost in lines {
        let bank = Bank::new(lost.iter().copied());
        assert_eq!(bank.withdraw(7, 30).unwrap(), 70, "{lost:?}");
        assert_eq!(bank.rows(), (70, 1), "{lost:?}");
        assert_eq!(bank.asked() as usize, lost.len() + 1, "{lost:?}");
    }
}

/// Out of attempts, nobody knows; who comes back with the order does.
#[test]
fn a_later_call_with_the_same_key_finds_what_the_first_one_did() {
    let bank = Bank::new([Loses::Answer, Loses::Request, Loses::Request, Loses::Request]);
    let stopped = bank.withdraw(7, 30).unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::AttemptsExhausted, 4));
    assert_eq!(stopped.failures()[0].failure().effect(), Effect::Possible);
    assert_eq!(bank.withdraw(7, 30).unwrap(), 70);
    assert_eq!(bank.withdraw(8, 30).unwrap(), 40);
    assert_eq!(bank.rows(), (40, 2));
}

/// Where the comparison of a row's version has to call it a conflict.
#[test]
fn a_foreign_change_on_top_of_ones_own_hides_nothing_from_a_key() {
    let bank = Bank::new([Loses::Answer, Loses::Request, Loses::Request]);
    let balance = bank.withdraw_while(|| bank.hold(DEPOSIT).commit().unwrap()).unwrap();
    assert_eq!((balance, bank.rows(), bank.asked()), (70, (75, 1), 4));
}

/// A key opens no lock: keyed as it is, the transaction is retried as a whole.
#[test]
fn the_key_does_not_replace_the_retry_of_the_transaction() {
    let bank = Bank::new([]);
    let writer = bank.hold(DEPOSIT);
    let stopped = bank.withdraw(7, 30).unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::AttemptsExhausted, 4));
    let Some(WithdrawError::Sqlite(error)) = stopped.error() else { panic!("{stopped}") };
    assert_eq!(error.sqlite_extended_error_code(), Some(ffi::SQLITE_BUSY));
    assert_eq!(bank.rows(), (100, 0));

    let balance = bank.withdraw_while(|| writer.commit().unwrap()).unwrap();
    assert_eq!((balance, bank.rows(), bank.asked()), (75, (75, 1), 8));
}

/// Of two callers with one key the second waits for the lock, and then finds the
/// answer of the first.
#[test]
fn a_second_caller_with_the_same_key_gets_the_answer_of_the_first() {
    let bank = Bank::new([]);
    let key = IdempotencyKey::derive("accounts.withdraw", "7").unwrap();
    let first = format!("INSERT INTO withdrawal VALUES ('{key}', 1, 30, 42)");
    let writer = bank.hold(&first);
    let balance = bank.withdraw_while(|| writer.commit().unwrap()).unwrap();
    assert_eq!((balance, bank.rows()), (42, (100, 1)));
}

/// One transaction: what is refused leaves no key, so that it can be asked again.
#[test]
fn a_key_without_its_effect_does_not_stay() {
    let bank = Bank::new([]);
    let stopped = bank.withdraw(7, 103).unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::FailPermanent, 1));
    assert_eq!(bank.rows(), (100, 0));
    bank.hold(DEPOSIT).commit().unwrap();
    assert_eq!(bank.withdraw(7, 103).unwrap(), 2);
    assert_eq!(bank.rows(), (2, 1));
}

#[test]
fn a_key_with_another_amount_is_refused() {
    let bank = Bank::new([]);
    assert_eq!(bank.withdraw(7, 30).unwrap(), 70);
    let stopped = bank.withdraw(7, 31).unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::FailPermanent, 1));
    assert!(matches!(stopped.error(), Some(WithdrawError::KeyReused(_))));
    assert_eq!(bank.rows(), (70, 1));
}
