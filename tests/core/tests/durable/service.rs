//! A service whose operations are durable, and what a test does to it.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use retry_core::__private::{Backoff, DurableRun, Given, Kept, Policy, Safety, Spec, by_trait};
use retry_core::clock::{Clock, VirtualClock};
use retry_core::record::{Event, Head, Phase, Record};
use retry_core::store::{List, MemoryStore, Store};
use retry_core::{Attempt, Classify, Failure, Jitter, Retrier, RetrierBuilder, Stopped};
use retry_core_tests::block_on;

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const LEASE: Duration = Duration::from_secs(30);

/// Waits of 10 s, four attempts.
pub(crate) const POLICY: Policy = Policy::new(4, Duration::from_secs(600))
    .backoff(Backoff::fixed(Duration::from_secs(10)).jitter(Jitter::None));

/// An error that is nothing but what it means for the retry, and has a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failed(pub(crate) Failure);

/// A transient failure, effect possible.
pub(crate) const BUSY: Failed = Failed(Failure::transient());

impl Classify for Failed {
    fn classify(&self) -> Failure {
        self.0
    }

    fn text(&self) -> Option<&dyn fmt::Display> {
        Some(self)
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What survives: the store, and the world's clock.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) clock: VirtualClock,
    pub(crate) store: MemoryStore,
}

/// One process of the service.
pub(crate) struct Service {
    pub(crate) world: World,
    pub(crate) retrier: Retrier,
    pub(crate) spec: Spec,
    /// The numbers of the attempts whose bodies ran.
    pub(crate) ran: Rc<RefCell<Vec<u32>>>,
}

impl World {
    pub(crate) fn new() -> Self {
        let clock = VirtualClock::new();
        Self { store: MemoryStore::with_clock(clock.clone()), clock }
    }

    /// A process of the service, started now.
    pub(crate) fn service(&self) -> Service {
        self.service_with(|retrier| retrier)
    }

    pub(crate) fn service_with(
        &self,
        with: impl FnOnce(RetrierBuilder) -> RetrierBuilder,
    ) -> Service {
        let retrier = Retrier::builder().store(self.store.clone()).lease(LEASE);
        Service {
            world: self.clone(),
            retrier: with(retrier).build(),
            spec: Spec::new("payments.charge", POLICY, Safety::Keyed).durable(),
            ran: Rc::default(),
        }
    }

    /// The only record.
    pub(crate) fn record(&self) -> Record {
        let heads = self.heads();
        assert_eq!(heads.len(), 1, "{heads:#?}");
        let record = block_on(&self.clock, self.store.read(heads[0].record)).unwrap().unwrap();
        record.replay().unwrap();
        record
    }

    pub(crate) fn heads(&self) -> Vec<Head> {
        block_on(&self.clock, self.store.list(List { limit: 100, ..List::default() })).unwrap()
    }

    pub(crate) fn kinds(&self) -> Vec<&'static str> {
        self.record().entries().iter().map(|entry| entry.event().kind()).collect()
    }

    pub(crate) fn phase(&self) -> Phase {
        self.record().head().phase
    }

    /// What each attempt that was charged came to: `None` was given back.
    pub(crate) fn attempts(&self) -> Vec<(u32, Option<&'static str>)> {
        let mut attempts = Vec::new();
        for entry in self.record().entries() {
            match entry.event() {
                Event::AttemptStarted { attempt, .. } => attempts.push((*attempt, None)),
                Event::AttemptFinished { attempt, ended, .. } => {
                    let last = attempts.last_mut().unwrap();
                    assert_eq!(*last, (*attempt, None));
                    last.1 = Some(ended.as_str());
                }
                Event::Released { attempt } => assert_eq!(attempts.last(), Some(&(*attempt, None))),
                _ => {}
            }
        }
        attempts
    }
}

impl Service {
    pub(crate) fn spec(mut self, spec: impl FnOnce(Spec) -> Spec) -> Self {
        self.spec = spec(self.spec);
        self
    }

    pub(crate) fn of(mut self, policy: Policy, safety: Safety) -> Self {
        self.spec = Spec::new("payments.charge", policy, safety).durable();
        self
    }

    /// What the attribute makes of a function.
    pub(crate) async fn call<T, F>(
        &self,
        amount: u64,
        mut body: impl FnMut(Attempt) -> F,
    ) -> Result<T, Stopped<Failed>>
    where
        T: Kept,
        F: Future<Output = Result<T, Failed>>,
    {
        let mut run = DurableRun::new(&self.spec, Some(self.retrier.clone()));
        run.derive_key("order-1");
        run.set_arguments(Given::new().argument("amount", &amount));
        loop {
            if let Some(done) = run.begin().await {
                break done;
            }
            let attempt = run.attempt();
            let number = attempt.number();
            let (ran, future) = (Rc::clone(&self.ran), body(attempt));
            let body = pin!(Some(async move {
                ran.borrow_mut().push(number);
                future.await
            }));
            if let Some(done) = run.judged_turn(body, by_trait).await {
                break done;
            }
        }
    }

    /// The outcomes of the attempts, one after the other; the last one repeats.
    pub(crate) async fn outcomes(
        &self,
        outcomes: &[Result<u32, Failed>],
    ) -> Result<u32, Stopped<Failed>> {
        let next = Cell::new(0);
        self.call(5, |_| {
            let outcome = outcomes[next.get().min(outcomes.len() - 1)];
            next.set(next.get() + 1);
            async move { outcome }
        })
        .await
    }

    pub(crate) fn run(&self, outcomes: &[Result<u32, Failed>]) -> Result<u32, Stopped<Failed>> {
        block_on(&self.world.clock, self.outcomes(outcomes))
    }

    pub(crate) fn ran(&self) -> Vec<u32> {
        self.ran.borrow().clone()
    }
}

/// Polls until the future is ready, or has been polled that often.
pub(crate) fn poll<F: Future>(
    clock: &VirtualClock,
    mut future: Pin<&mut F>,
    times: usize,
) -> Option<F::Output> {
    let mut cx = Context::from_waker(Waker::noop());
    let mut scoped = pin!(clock.clone().scope(future.as_mut()));
    for _ in 0..times {
        if let Poll::Ready(output) = scoped.as_mut().poll(&mut cx) {
            return Some(output);
        }
    }
    None
}

/// Polls until it holds, then forgets the future: as when its process is killed.
pub(crate) fn kill_when<F: Future>(clock: &VirtualClock, future: F, dies: impl Fn() -> bool) {
    let mut future = Box::pin(future);
    let mut polls = 0;
    while !dies() {
        assert!(poll(clock, future.as_mut(), 1).is_none(), "it ended first");
        polls += 1;
        assert!(polls < 10_000, "it never came to that");
    }
    std::mem::forget(future);
}
