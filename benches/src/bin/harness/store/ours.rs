//! The store, by what a driver asks of it.

use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use retry_core::key::ToKey as _;
use retry_core::record::{Arguments, Change, Fence, Head, Holder, New, RecordId};
use retry_core::store::{Due, Enqueued, Store as _, Write};
use retry_core::{OperationId, Policy, Safety};
use retry_sqlite::SqliteStore;
use tokio::runtime::{Builder, Runtime};

use super::Operations;

/// A store that is open, and what calls it.
pub(crate) struct Ours {
    runtime: Runtime,
    store: SqliteStore,
}

impl Ours {
    pub(crate) fn open(file: &Path) -> Result<Self> {
        let runtime = Builder::new_current_thread().build().context("start a runtime")?;
        Ok(Self { runtime, store: SqliteStore::open(file)? })
    }

    /// Each operation begins and ends, in a commit each, for so many callers at once.
    pub(crate) fn begin_and_end(&self, callers: usize, operations: Operations) -> Result<Duration> {
        self.runtime.block_on(async {
            begin_and_end(&self.store, callers, 0..operations.before).await?;
            begin_and_end(&self.store, callers, operations.before..operations.all()).await
        })
    }

    /// What is due is claimed and completed, so many at a time.
    pub(crate) fn take_and_end(&self, size: usize, operations: Operations) -> Result<Duration> {
        self.runtime.block_on(async {
            let replies: Vec<_> = (0..operations.all())
                .map(|key| Ok(self.store.enqueue(operation(key, None)?)))
                .collect::<Result<_>>()?;
            for reply in replies {
                reply.await?;
            }
            take_and_end(&self.store, size, operations.before).await?;
            take_and_end(&self.store, size, operations.measured).await
        })
    }

    pub(crate) fn close(self) -> Result<()> {
        Ok(self.runtime.block_on(self.store.close())?)
    }
}

async fn begin_and_end(
    store: &SqliteStore,
    callers: usize,
    keys: Range<usize>,
) -> Result<Duration> {
    // In the order in which they are written, as those of a service are made.
    let mut all = vec![Vec::new(); callers];
    for key in keys {
        all[key % callers].push(operation(key, Some(Holder::new()))?);
    }
    let started = Instant::now();
    let tasks: Vec<_> =
        all.into_iter().map(|operations| tokio::spawn(call(store.clone(), operations))).collect();
    for task in tasks {
        task.await.context("a caller ends")??;
    }
    Ok(started.elapsed())
}

/// One caller.
async fn call(store: SqliteStore, operations: Vec<New>) -> Result<()> {
    for new in operations {
        let Enqueued::New(head) = store.enqueue(new).await? else { bail!("each key is new") };
        for head in store.commit(vec![complete(&head)?]).await? {
            head?;
        }
    }
    Ok(())
}

async fn take_and_end(store: &SqliteStore, size: usize, operations: usize) -> Result<Duration> {
    let due = Due { queue: "mail".to_owned(), limit: size, holder: Holder::new(), lease: LEASE };
    let (started, mut done) = (Instant::now(), 0);
    while done < operations {
        let claimed = store.claim(due.clone()).await?;
        ensure!(!claimed.is_empty(), "{done} of {operations} were claimed");
        let writes =
            claimed.iter().map(|claimed| complete(&claimed.head)).collect::<Result<_>>()?;
        for head in store.commit(writes).await? {
            head?;
            done += 1;
        }
    }
    Ok(started.elapsed())
}

const LEASE: Duration = Duration::from_secs(30);

/// With a holder, it begins with its first attempt; without, it waits in a queue.
fn operation(key: usize, holder: Option<Holder>) -> Result<New> {
    let name = "payments.charge";
    Ok(New {
        record: RecordId::new(),
        operation: OperationId::keyed(name, (key as u64).to_key(name)?),
        safety: Safety::Keyed,
        policy: Policy::new(5, Duration::from_secs(30)),
        arguments: Arguments::of(&("customer-17", key as u64, "a receipt by mail"))?,
        queue: if holder.is_some() { String::new() } else { "mail".to_owned() },
        code_version: None,
        keep: Duration::from_secs(86_400),
        held: holder.map(|holder| (holder, LEASE)),
        started: holder.is_some(),
    })
}

fn complete(head: &Head) -> Result<Write> {
    let (holder, _) = head.lease.held.context("an operation is held")?;
    let fence = Fence { epoch: head.lease.epoch, holder };
    let (number, elapsed) = (head.started, head.elapsed + Duration::from_millis(3));
    let change = Change::complete(fence, number, elapsed, "\"receipt-17\"".to_owned());
    Ok(Write { record: head.record, change })
}
