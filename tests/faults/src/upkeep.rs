//! What goes on in a worker beside its calls: it hands out what a queue holds, and
//! looks for what is over.

use std::time::{Duration, Instant, SystemTime};

use retry_core::Situation;
use retry_core::record::{Change, Ended, Fence, Head, Holder, Phase, Timestamp};
use retry_core::store::{Claimed, Due, List, Store, StoreError, Write};
use retry_faults::{Kind, Outcome};
use tokio::time::sleep;

use crate::service::{FORGOTTEN, Order, QUEUED, Service, key_of_queued};

/// How often it looks.
const PAUSE: Duration = Duration::from_millis(40);

pub(crate) struct Upkeep {
    pub(crate) service: Service,
    pub(crate) lease: Duration,
    pub(crate) reclaims: bool,
    pub(crate) retains: bool,
}

impl Upkeep {
    /// Until it is dropped.
    pub(crate) async fn run(&self) {
        loop {
            sleep(PAUSE).await;
            // A store that cannot is asked again.
            let _ = self.look().await;
        }
    }

    /// Asks only for what there is: each fault point that is passed is one where
    /// something is written.
    async fn look(&self) -> Result<(), StoreError> {
        let store = &self.service.store;
        let now = Timestamp::from(SystemTime::now());
        let heads = self.unsettled().await?;
        // What a queue has handed out, nobody else goes on with.
        let wait = if self.reclaims { Duration::ZERO } else { self.lease * 3 };
        let is_over =
            |head: &Head| head.lease.held.is_some_and(|(_, until)| until.plus(wait) <= now);
        if heads.iter().any(is_over) {
            store.reclaim(8).await?;
        }
        let is_due =
            |head: &Head| head.queue == QUEUED && head.lease.held.is_none() && head.due_at <= now;
        if heads.iter().any(is_due) {
            let queue = QUEUED.to_owned();
            let due = Due { queue, limit: 4, holder: Holder::new(), lease: self.lease };
            let asked = Instant::now();
            for claimed in store.claim(due).await? {
                // Too late for the others: somebody else may run them by now.
                if asked.elapsed() >= self.lease {
                    break;
                }
                self.work(claimed).await?;
            }
        }
        if self.retains && self.has_anything_expired(now).await? {
            store.retain(8).await?;
        }
        Ok(())
    }

    async fn unsettled(&self) -> Result<Vec<Head>, StoreError> {
        let mut heads = Vec::new();
        for phase in [Phase::Ready, Phase::Running, Phase::Parked] {
            let list = List { phase: Some(phase), limit: 64, ..List::default() };
            heads.extend(self.service.store.list(list).await?);
        }
        Ok(heads)
    }

    async fn has_anything_expired(&self, now: Timestamp) -> Result<bool, StoreError> {
        let list = List {
            name: Some(FORGOTTEN.to_owned()),
            phase: Some(Phase::Done),
            limit: 64,
            ..List::default()
        };
        let done = self.service.store.list(list).await?;
        Ok(done.iter().any(|head| head.has_expired(now)))
    }

    /// One attempt of what the queue handed out. Whoever is too late is fenced.
    async fn work(&self, Claimed { head, arguments }: Claimed) -> Result<(), StoreError> {
        let Some((holder, _)) = head.lease.held else { return Ok(()) };
        let fence = Fence { epoch: head.lease.epoch, holder };
        let Some(number) = number_in(arguments.json()) else { return Ok(()) };
        let (attempt, key) = (head.started, Some(key_of_queued(number)));
        let outcome = self.service.work(Order { number }, attempt, key).await;
        let change = match outcome {
            Ok(receipt) if Kind::of(number).outcome(attempt) == Outcome::Succeeds => {
                let result = serde_json::to_string(&receipt).unwrap_or_default();
                Change::complete(fence, attempt, head.elapsed, result)
            }
            _ => Change::Abandon {
                fence,
                ended: Some(Ended::Dropped),
                elapsed: head.elapsed,
                situation: Situation::new(),
            },
        };
        let write = Write { record: head.record, change };
        self.service.store.commit(vec![write]).await.map(drop)
    }
}

/// The number of the order among the arguments of an operation.
fn number_in(arguments: &str) -> Option<u32> {
    let arguments: serde_json::Value = serde_json::from_str(arguments).ok()?;
    u32::try_from(arguments["order"]["number"].as_u64()?).ok()
}
