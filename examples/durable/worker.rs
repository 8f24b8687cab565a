//! The service's process: made to be killed.

use std::error::Error;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use futures::stream::{self, TryStreamExt};
use reqwest::Client;
use retry_core::Retrier;
use retry_core::record::Finality;
use retry_core::store::MemoryStore;
use retry_sqlite::SqliteStore;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, BufReader, Lines, Stdin};

use crate::service::{Order, Payments};

/// How long an operation is held without a sign of life. So long after a kill
/// nobody goes on with what was under way.
const LEASE: Duration = Duration::from_millis(300);

/// How often a customer asks whose answer is that there is none yet.
const PATIENCE: u32 = 10;

/// How many orders are worked on at a time.
const COUNTERS: usize = 32;

/// What the worker says, a line each.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Line {
    /// The store is open.
    Open,
    /// A customer has an answer.
    Answered(Answer),
}

/// What a customer is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Answer {
    /// The number of the order.
    pub(crate) order: u32,
    /// The reason, where it was not charged.
    pub(crate) stopped: Option<String>,
}

/// The worker's process: charges the orders whose numbers it reads, until there are
/// no more, and says what came of each.
///
/// # Errors
/// The store cannot be opened, or nothing read or printed.
pub(crate) async fn work(gateway: &str, store: Option<&Path>) -> Result<(), Box<dyn Error>> {
    let retries = Retrier::builder().lease(LEASE);
    let retries = match store {
        Some(path) => retries.store(SqliteStore::open(path)?),
        None => retries.store(MemoryStore::new()),
    };
    let client = Client::builder().no_proxy().build()?;
    let payments = Payments { client, gateway: gateway.to_owned(), retries: retries.build() };
    say(&Line::Open)?;

    let lines = BufReader::new(tokio::io::stdin()).lines();
    let answers = stream::try_unfold(lines, next_order)
        .map_ok(async |order| Ok(answer(&payments, order).await))
        .try_buffer_unordered(COUNTERS);
    answers
        .try_for_each(async |answer| {
            Ok(answer.map_or(Ok(()), |answer| say(&Line::Answered(answer)))?)
        })
        .await
}

type Orders = Lines<BufReader<Stdin>>;

async fn next_order(mut lines: Orders) -> Result<Option<(u32, Orders)>, Box<dyn Error>> {
    match lines.next_line().await? {
        Some(line) => Ok(Some((line.parse()?, lines))),
        None => Ok(None),
    }
}

/// Asks again where the same call goes on, as after a lease that was lost because
/// this process had no time; `None` where that did not help.
async fn answer(payments: &Payments, order: u32) -> Option<Answer> {
    for _ in 0..PATIENCE {
        match payments.charge(&Order::number(order)).await {
            Ok(_) => return Some(Answer { order, stopped: None }),
            Err(stopped) if stopped.reason().finality() == Finality::Resumable => {
                tokio::time::sleep(LEASE).await;
            }
            Err(stopped) => {
                return Some(Answer { order, stopped: Some(stopped.reason().to_string()) });
            }
        }
    }
    None
}

fn say(line: &Line) -> io::Result<()> {
    let mut line = serde_json::to_string(line)?;
    line.push('\n');
    // At once, and in one piece.
    io::stdout().write_all(line.as_bytes())
}
