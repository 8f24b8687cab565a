//! A row version with compare-and-set: the way to make an update repeatable
//! without a key.
#![allow(clippy::unwrap_used, reason = "in helpers of tests")]

use std::time::Duration;

use futures::executor::block_on;
use futures::future::join;
use retry_core::clock::{Clock, VirtualClock};
use retry_core::{Classify, Effect, StopReason, Stopped, retryable};
use retry_recipes::{Folder, Line, Loses, Lost, classify, open};
use rusqlite::{Connection, TransactionBehavior};

#[derive(Debug, thiserror::Error, Classify)]
enum UpdateError {
    #[error(transparent)]
    #[retry(transient)] // it may have committed
    Lost(#[from] Lost),
    #[error("somebody else has changed it since version {0}")]
    #[retry(permanent)]
    Conflict(i64),
    #[error(transparent)]
    #[retry(with = classify)]
    Sqlite(#[from] rusqlite::Error),
}

struct Articles {
    database: Line,
}

impl Articles {
    /// Sets the price of what was read at `version`; answers the new version.
    #[retryable(name = "articles.price", idempotent, max_attempts = 4, deadline = "10s")]
    async fn set_price(
        &self,
        article: i64,
        version: i64,
        price: i64,
    ) -> Result<i64, Stopped<UpdateError>> {
        self.database.ask(|connection| compare_and_set(connection, article, version, price)).await
    }
}

fn compare_and_set(
    connection: &mut Connection,
    article: i64,
    version: i64,
    price: i64,
) -> Result<i64, UpdateError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute(
        "UPDATE article SET price = ?3, version = version + 1 WHERE id = ?1 AND version = ?2",
        (article, version, price),
    )?;
    let there = transaction.query_one(
        "SELECT version, price FROM article WHERE id = ?1",
        [article],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    transaction.commit()?;
    // By this attempt or by one before it whose answer was lost.
    if there == (version + 1, price) {
        Ok(version + 1)
    } else {
        Err(UpdateError::Conflict(version))
    }
}

/// An article at version 1 with price 100, reached over a line that loses this.
struct Shop {
    folder: Folder,
    articles: Articles,
}

impl Shop {
    fn new(lost: impl IntoIterator<Item = Loses>) -> Self {
        let folder = Folder::new().unwrap();
        let connection = open(&folder.database()).unwrap();
        connection
            .execute_batch(
                "CREATE TABLE article (
                     id INTEGER PRIMARY KEY,
                     price INTEGER NOT NULL,
                     version INTEGER NOT NULL
                 ) STRICT;
                 INSERT INTO article VALUES (7, 100, 1);",
            )
            .unwrap();
        Self { folder, articles: Articles { database: Line::new(connection, lost) } }
    }

    /// The price that was read at version 1 becomes 90.
    fn set_price(&self) -> Result<i64, Stopped<UpdateError>> {
        block_on(VirtualClock::new().scope(self.articles.set_price(7, 1, 90)))
    }

    /// The same, and what others do while it waits for its second attempt.
    fn set_price_while(&self, others: impl FnOnce(&Self)) -> Result<i64, Stopped<UpdateError>> {
        let clock = VirtualClock::new();
        let soon = clock.now() + Duration::from_millis(1);
        let others = async {
            clock.sleep_until(soon).await;
            others(self);
        };
        let both = join(self.articles.set_price(7, 1, 90), others);
        block_on(clock.clone().scope(both)).0
    }

    /// A change of somebody else's, by a connection of its own.
    fn foreign(&self, price: i64) {
        let connection = open(&self.folder.database()).unwrap();
        let sql = "UPDATE article SET price = ?1, version = version + 1";
        assert_eq!(connection.execute(sql, [price]).unwrap(), 1);
    }

    /// Price and version.
    fn row(&self) -> (i64, i64) {
        let connection = open(&self.folder.database()).unwrap();
        let sql = "SELECT price, version FROM article";
        connection.query_one(sql, (), |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
    }

    fn asked(&self) -> u32 {
        block_on(self.articles.database.asked())
    }
}

#[test]
fn an_update_whose_answer_arrives_is_made_once() {
    let shop = Shop::new([]);
    assert_eq!(shop.set_price().unwrap(), 2);
    assert_eq!((shop.row(), shop.asked()), ((90, 2), 1));
}

/// Wherever it was lost, and however often: one step of the version.
#[test]
fn a_lost_answer_is_recognized_and_never_applied_twice() {
    use Loses::{Answer, Request};
    let lines: [&[Loses]; 7] = [
        &[Request],
        &[Answer],
        &[Request, Answer],
        &[Answer, Request],
        &[Answer, Answer],
        &[Request, Answer, Request],
        &[Answer, Answer, Answer],
    ];
    for lost in lines {
        let shop = Shop::new(lost.iter().copied());
        assert_eq!(shop.set_price().unwrap(), 2, "{lost:?}");
        assert_eq!(shop.row(), (90, 2), "{lost:?}");
        assert_eq!(shop.asked() as usize, lost.len() + 1, "{lost:?}");
    }
}

#[test]
fn a_foreign_change_is_a_conflict_at_once_and_stays() {
    let shop = Shop::new([]);
    shop.foreign(120);
    let stopped = shop.set_price().unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::FailPermanent, 1));
    assert!(matches!(stopped.error(), Some(UpdateError::Conflict(1))));
    assert_eq!(shop.row(), (120, 2));
}

/// The request was lost, and somebody else came first.
#[test]
fn a_foreign_change_between_two_attempts_is_a_conflict() {
    let shop = Shop::new([Loses::Request]);
    let stopped = shop.set_price_while(|shop| shop.foreign(120)).unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::FailPermanent, 2));
    assert_eq!(shop.row(), (120, 2));
}

/// What the row cannot tell: it was changed here, and then there. Nothing is
/// applied twice; whether it was applied once, the conflict does not say.
#[test]
fn a_foreign_change_on_top_of_ones_own_is_a_conflict_too() {
    let shop = Shop::new([Loses::Answer]);
    let stopped = shop.set_price_while(|shop| shop.foreign(120)).unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::FailPermanent, 2));
    assert_eq!(shop.row(), (120, 3));
    // The lost answer is on record.
    assert_eq!(stopped.failures()[0].failure().effect(), Effect::Possible);
}

/// Two who want the price at 90 agree. Two who each take 10 off both write 90 as
/// well, both are told that it was theirs, and one of the reductions is lost.
#[test]
fn the_same_value_from_somebody_else_passes_for_ones_own() {
    let shop = Shop::new([]);
    shop.foreign(90);
    assert_eq!(shop.set_price().unwrap(), 2);
    assert_eq!(shop.row(), (90, 2));
}
