//! What a durable operation holds of its record, and keeps by heartbeats.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use super::first;
use crate::clock::{ClockHandle, Waiting};
use crate::decide::Situation;
use crate::record::{Change, Ended, Fence, Head, Holder, RecordId, Refused};
use crate::retrier::Keeping;
use crate::store::{Reply, Store, Write};

/// A lease on a record, or one that is asked for.
pub(super) struct Claim {
    store: Arc<dyn Store>,
    record: RecordId,
    fence: Fence,
    lease: Duration,
    clock: ClockHandle,
    timer: Pin<Box<Waiting>>,
    /// When to give the next sign of life.
    next: Option<Instant>,
    /// When the lease is over, as far as the store has confirmed it.
    until: Option<Instant>,
    beat: Option<Beat>,
    /// The lease was over, and the store had not answered.
    unconfirmed: bool,
}

/// A sign of life that the store has not confirmed yet.
struct Beat {
    asked: Instant,
    reply: Reply<Vec<Result<Head, Refused>>>,
}

/// How many signs of life a lease has.
const BEATS: u32 = 3;

impl Claim {
    /// The `epoch`-th claim of the record.
    pub(super) fn new(
        store: &Arc<dyn Store>,
        record: RecordId,
        epoch: u64,
        keeping: &Keeping,
        clock: &ClockHandle,
    ) -> Self {
        let mut claim = Self {
            store: Arc::clone(store),
            record,
            fence: Fence { epoch, holder: Holder::new() },
            lease: keeping.lease,
            clock: clock.clone(),
            timer: Waiting::new(clock.clone()),
            next: None,
            until: None,
            beat: None,
            unconfirmed: false,
        };
        claim.confirmed(claim.clock.now());
        claim
    }

    pub(super) const fn record(&self) -> RecordId {
        self.record
    }

    pub(super) const fn fence(&self) -> Fence {
        self.fence
    }

    pub(super) const fn holder(&self) -> Holder {
        self.fence.holder
    }

    pub(super) const fn take_over(&self) -> Write {
        let Fence { epoch, holder } = self.fence;
        let change = Change::TakeOver { epoch: epoch - 1, holder, lease: self.lease };
        Write { record: self.record, change }
    }

    pub(super) fn commit(&self, change: Change) -> Reply<Vec<Result<Head, Refused>>> {
        self.store.commit(vec![Write { record: self.record, change }])
    }

    /// Leaves what is held. Behind whatever was asked for, and not waited for.
    pub(super) fn abandon(self, ended: Option<Ended>, elapsed: Duration, situation: Situation) {
        let change = Change::Abandon { fence: self.fence, ended, elapsed, situation };
        self.store.post(Write { record: self.record, change });
    }

    /// Gives signs of life; ready when the operation is held no more. A store that
    /// does not answer is believed until the lease is over.
    pub(super) fn poll_lost(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            if let Some(Beat { asked, reply }) = &mut self.beat {
                let asked = *asked;
                match reply.as_mut().poll(cx) {
                    Poll::Ready(answer) => {
                        self.beat = None;
                        match first(answer) {
                            Ok(Ok(_)) => self.confirmed(asked),
                            Ok(Err(_)) => return Poll::Ready(()),
                            Err(_) => self.next = self.clock.now().checked_add(self.lease / 10),
                        }
                    }
                    // Asked late, by a thread that was blocked: the store knows.
                    Poll::Pending => {
                        let answered = asked.checked_add(self.lease / BEATS);
                        ready!(self.poll_at(self.until.max(answered), cx));
                        self.unconfirmed = true;
                        return Poll::Ready(());
                    }
                }
            }
            let now = self.clock.now();
            if self.until.is_some_and(|until| until <= now)
                && self.next.is_some_and(|next| next > now)
            {
                self.unconfirmed = true;
                return Poll::Ready(());
            }
            ready!(self.poll_at(self.next, cx));
            let heartbeat = Change::Heartbeat { fence: self.fence, lease: self.lease };
            self.beat = Some(Beat { asked: self.clock.now(), reply: self.commit(heartbeat) });
        }
    }

    /// Ready with whether a body may run: pending where the lease is over by this
    /// process's own clock, and the store has not said who holds the operation. A
    /// thread that was blocked, or whose store was slow, comes to that; somebody else
    /// may run the next attempt by then.
    pub(super) fn poll_held(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        if self.poll_lost(cx).is_ready() {
            return Poll::Ready(false);
        }
        match self.until {
            Some(until) if until <= self.clock.now() => Poll::Pending,
            _ => Poll::Ready(true),
        }
    }

    /// Whether it was given up because the store did not answer.
    pub(super) const fn is_unconfirmed(&self) -> bool {
        self.unconfirmed
    }

    /// Waits a little, for a store that may do later what it could not do now; not
    /// beyond the lease.
    pub(super) async fn rest(&mut self) -> bool {
        let Some(at) = self.clock.now().checked_add(self.lease / 10) else {
            return false;
        };
        if self.until.is_none_or(|until| until <= at) {
            return false;
        }
        poll_fn(|cx| self.poll_at(Some(at), cx)).await;
        true
    }

    fn confirmed(&mut self, asked: Instant) {
        self.next = asked.checked_add(self.lease / BEATS);
        self.until = asked.checked_add(self.lease);
    }

    /// Beyond what the clock can count, nothing is due.
    fn poll_at(&mut self, at: Option<Instant>, cx: &mut Context<'_>) -> Poll<()> {
        let Some(at) = at else {
            return Poll::Pending;
        };
        if self.clock.now() >= at {
            return Poll::Ready(());
        }
        self.timer.as_mut().set(at);
        self.timer.as_mut().poll(cx)
    }
}
