//! The loop of an operation that survives its process: what the inline loop does,
//! with each step kept in a store before it is taken. It decides nothing.

mod claim;
mod given;

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use crate::attempt::Attempt;
use crate::classify::Failure;
use crate::decide::{Decision, Deferral, Situation};
use crate::judge::{Describe, Judged};
use crate::key::{IdempotencyKey, ToKey};
use crate::observe::contain;
use crate::policy::PolicyError;
use crate::record::{
    Arguments, Change, Ended, Event, Fingerprint, Head, New, Phase, Record, RecordError, RecordId,
    Refused,
};
use crate::retrier::{Keeping, Retrier};
use crate::run::{Admission, Failed, Halt, Run, Spec, deferral_of};
use crate::stop::{Stop, StopReason};
use crate::stopped::Stopped;
use crate::store::{Enqueued, Limits, Store, StoreError};

use claim::Claim;
use given::Form;
pub use given::{Argument, Given, Kept};

/// One durable operation in progress.
///
/// [`begin`](Self::begin) and [`judged_turn`](Self::judged_turn), one after the other, until one
/// of them gives the result.
pub struct DurableRun<'a, T, E> {
    run: Run<'a, E>,
    spec: &'a Spec,
    keeping: Keeping,
    given: Given,
    /// What the store is asked for, once that can be asked.
    asked: Option<Arc<Asked>>,
    /// What is held, or asked for. Abandoned when the operation is dropped.
    claim: Option<Claim>,
    stage: Stage,
    form: Form<T>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The store was not asked yet.
    Unasked,
    /// There is no record yet.
    New,
    /// The record is there, and held.
    Held,
    /// The body was polled, and its attempt is not finished.
    Polled,
}

/// What the store is asked for.
struct Asked {
    store: Arc<dyn Store>,
    arguments: Arguments,
}

/// How the body of an attempt ended.
enum Outcome<T, E> {
    Value(T),
    Error(E),
    Cut,
    /// Somebody else holds the operation now.
    Lost,
}

/// A result, or why there is none.
type Done<T, E> = Result<T, Stopped<E>>;

impl<'a, T, E> DurableRun<'a, T, E> {
    /// An operation that asks its store when it begins.
    ///
    /// That `T` can be recorded is asked here, and nowhere else: it would be an
    /// error each.
    pub fn new(spec: &'a Spec, retrier: Option<Retrier>) -> Self
    where
        // On a line of its own: the compiler quotes it.
        T: Kept,
    {
        let keeping =
            retrier.as_ref().map_or(Keeping::DEFAULT, |retrier| retrier.keeping().clone());
        Self {
            run: Run::new(spec, retrier),
            spec,
            keeping,
            given: Given::new(),
            asked: None,
            claim: None,
            stage: Stage::Unasked,
            form: Form::JSON,
        }
    }

    /// Derives the operation's key, which its record is found by.
    pub fn derive_key<K>(&mut self, key: &K) -> IdempotencyKey
    where
        // On a line of its own: the compiler quotes it.
        K: ToKey,
        K: ?Sized,
    {
        self.run.derive_key(key)
    }

    /// Sets whose share of the resource's budget it uses.
    pub fn set_caller<C: AsRef<str> + ?Sized>(&mut self, caller: &C) {
        self.run.set_caller(caller);
    }

    /// Sets what it is called with.
    pub fn set_arguments(&mut self, given: Given) {
        self.given = given;
    }

    /// The attempt that is running, for the body.
    pub fn attempt(&mut self) -> Attempt {
        self.run.attempt()
    }

    /// Drives what runs between a wait and the next attempt. Cut at the deadline.
    pub async fn before_retry<F: Future<Output = ()>>(&mut self, hook: Pin<&mut F>) {
        let Self { run, claim, .. } = self;
        let mut hook = run.before_retry(hook);
        let mut hook = Pin::new(&mut hook);
        poll_fn(|cx| {
            // What is lost is found again before the attempt.
            if is_lost(claim, cx) {
                return Poll::Ready(());
            }
            hook.as_mut().poll(cx)
        })
        .await;
    }
}

impl<T, E> DurableRun<'_, T, E> {
    /// Gives what is recorded, or charges the next attempt: then the body may run.
    pub async fn begin(&mut self) -> Option<Done<T, E>> {
        let asked = match self.asked() {
            Ok(asked) => asked,
            Err(stop) => return Some(Err(self.run.stop(stop))),
        };
        if self.stage == Stage::Unasked
            && let Some(done) = self.open(&asked).await
        {
            return Some(done);
        }
        loop {
            if self.run.is_waiting() {
                if let Some(stop) = self.run.planned_too_late() {
                    return Some(Err(self.end(Vec::new(), stop).await));
                }
                if let Err(stopped) = self.wait().await {
                    return Some(Err(stopped));
                }
            }
            let next = match self.run.admit() {
                Admission::Granted => self.charge(&asked).await,
                Admission::Deferred(deferral, situation) => {
                    self.defer(&asked, deferral, situation).await
                }
                Admission::Halted(halt) => Err(self.halt(halt).await),
            };
            match next {
                Ok(Some(Charged::Attempt)) => return None,
                Ok(Some(Charged::Answered(done))) => return Some(done),
                Ok(None) => {}
                Err(stopped) => return Some(Err(stopped)),
            }
        }
    }

    /// Drives the body to its end or to the cut, keeps what came of it, and waits
    /// where another attempt follows.
    pub async fn judged_turn<F, C>(
        &mut self,
        mut body: Pin<&mut Option<F>>,
        mut judge: C,
    ) -> Option<Done<T, E>>
    where
        F: Future<Output = Result<T, E>>,
        C: FnMut(&E) -> Judged<E>,
    {
        let outcome = poll_fn(|cx| self.poll_body(body.as_mut(), cx)).await;
        body.set(None);
        let (judged, ended, error) = match outcome {
            Outcome::Value(value) => return Some(self.complete(value).await),
            Outcome::Lost => return Some(Err(self.lost())),
            Outcome::Error(error) => (judge(&error), Ended::Failed, Some(error)),
            Outcome::Cut => (Judged::new(Failure::timeout(), None), Ended::Cut, None),
        };
        let failed = self.run.judge(judged, error);
        let events = self.events_of(&failed, ended);
        if let Err(stopped) = self.write(events, failed.decision.stop_reason().is_none()).await {
            return Some(Err(stopped));
        }
        match self.run.follow(failed) {
            Some(stop) => Some(Err(self.run.stop(stop))),
            None => self.wait().await.err().map(Err),
        }
    }
}

const UNCONFIRMED: &str = "the store did not confirm the lease in its time, so that another call \
    may have taken the operation over";

const DECLARED_ANEW: &str = "the operation began under another declaration, `key` or \
    `at_most_once`, and goes on only under that one; let it end before the function declares \
    another, or give the function another name";

/// What came of asking the store for an attempt.
enum Charged<T, E> {
    Attempt,
    Answered(Done<T, E>),
}

/// Asking the store.
impl<T, E> DurableRun<'_, T, E> {
    /// What must hold before the store is asked.
    fn asked(&mut self) -> Result<Arc<Asked>, Stop> {
        if let Some(asked) = &self.asked {
            return Ok(Arc::clone(asked));
        }
        self.run.check()?;
        let Some(store) = self.keeping.store.clone() else {
            return Err(Stop::invalid(PolicyError::NoStore));
        };
        if self.spec.policy().get_backoff().is_custom() {
            return Err(Stop::invalid(PolicyError::CustomBackoff));
        }
        let arguments =
            self.given.arguments().map_err(StoreError::from).and_then(|arguments| {
                store.limits().check_arguments(&arguments).map(|()| arguments)
            });
        let arguments = arguments.map_err(Stop::unkeepable)?;
        let asked = Arc::new(Asked { store, arguments });
        self.asked = Some(Arc::clone(&asked));
        Ok(asked)
    }

    /// Finds the record, and goes on with it where it can; `Some` with what it
    /// answers. Without a record nothing is written yet.
    async fn open(&mut self, asked: &Asked) -> Option<Done<T, E>> {
        self.stage = Stage::New;
        match asked.store.find(self.run.id()).await {
            Ok(Some(record)) => self.go_on(asked, Box::new(record)).await,
            Ok(None) => None,
            Err(error) => Some(Err(self.store_failed(error))),
        }
    }

    /// Answers what is recorded, or takes the operation over; `None` where it goes
    /// on from here.
    async fn go_on(&mut self, asked: &Asked, mut record: Box<Record>) -> Option<Done<T, E>> {
        let store = &asked.store;
        let fingerprint = asked.arguments.fingerprint();
        loop {
            if let Some(done) = self.recorded(&record, fingerprint) {
                return Some(done);
            }
            // Where nothing may go on, nothing is written: however often one asks.
            if let Some(stop) = self.run.switched_off(record.head()) {
                return Some(Err(self.run.stop(stop)));
            }
            let (id, epoch) = (record.head().record, record.head().lease.epoch.saturating_add(1));
            let claim = Claim::new(store, id, epoch, &self.keeping, self.run.clock());
            let take_over = claim.take_over();
            self.claim = Some(claim);
            let taken = first(store.commit(vec![take_over]).await);
            match taken {
                Ok(Ok(head)) if !head.phase.is_settled() => return self.resume(&head).await,
                Ok(Err(Refused::InFlight { .. })) => {
                    self.claim = None;
                    if !self.spec.attaches() {
                        return Some(Err(self.run.stop(Stop::new(StopReason::InFlight))));
                    }
                    if let Err(stop) = self.attached(store, &record).await {
                        return Some(Err(self.run.stop(stop)));
                    }
                }
                // The lost attempt was the last, or somebody was faster.
                Ok(_) => self.claim = None,
                Err(error) => return Some(Err(self.store_failed(error))),
            }
            match store.find(self.run.id()).await {
                Ok(Some(found)) => *record = found,
                Ok(None) => {
                    self.stage = Stage::New;
                    return None;
                }
                Err(error) => return Some(Err(self.store_failed(error))),
            }
        }
    }

    /// Waits until nobody holds the operation: for as long as the operation may take
    /// itself, and while waiting is allowed.
    async fn attached(&mut self, store: &Arc<dyn Store>, record: &Record) -> Result<(), Stop> {
        let mut freed = store.freed(record.head().record);
        let run = &mut self.run;
        poll_fn(|cx| match freed.as_mut().poll(cx) {
            Poll::Ready(Ok(())) => Poll::Ready(Ok(())),
            Poll::Ready(Err(error)) => Poll::Ready(Err(Stop::store_failed(error))),
            Poll::Pending if !run.may_wait(cx) => {
                let stop = run.switched_off(record.head());
                Poll::Ready(Err(stop.unwrap_or_else(|| Stop::new(StopReason::InFlight))))
            }
            Poll::Pending if run.poll_deadline(cx).is_ready() => {
                Poll::Ready(Err(Stop::new(StopReason::InFlight)))
            }
            Poll::Pending => Poll::Pending,
        })
        .await
    }

    /// What the record answers, if it does.
    fn recorded(&mut self, record: &Record, fingerprint: Fingerprint) -> Option<Done<T, E>> {
        let head = record.head();
        if fingerprint != head.fingerprint {
            return Some(Err(self.run.stop(Stop::new(StopReason::KeyReused))));
        }
        match (head.phase, record.result(), &head.stop) {
            (Phase::Done, Some(result), _) => Some(match (self.form.read)(result) {
                Ok(value) => {
                    self.run.answered();
                    Ok(value)
                }
                Err(error) => {
                    let error =
                        RecordError::OtherResult { record: head.record, why: error.to_string() };
                    Err(self.store_failed(error.into()))
                }
            }),
            (_, _, Some(stop)) if head.phase.is_settled() => {
                Some(Err(self.run.recorded_stop(head, stop)))
            }
            _ if head.safety != self.spec.safety() => {
                Some(Err(self.run.stop(Stop::said(StopReason::InvalidPolicy, DECLARED_ANEW))))
            }
            _ => None,
        }
    }

    /// Goes on where the record stands.
    async fn resume(&mut self, head: &Head) -> Option<Done<T, E>> {
        self.stage = Stage::Held;
        match self.run.carry(head) {
            Admission::Granted => None,
            Admission::Deferred(deferral, situation) => {
                self.keep_deferral(deferral, situation).await.err().map(Err)
            }
            Admission::Halted(halt) => Some(Err(self.halt(halt).await)),
        }
    }

    /// Charges the attempt that was admitted; `Answered` where the operation exists
    /// by now.
    async fn charge(&mut self, asked: &Asked) -> Result<Option<Charged<T, E>>, Stopped<E>> {
        if self.stage == Stage::New {
            if let Some(record) = self.enqueue(asked, true).await? {
                return Ok(self.go_on(asked, record).await.map(Charged::Answered));
            }
        } else {
            let attempt = self.run.number().saturating_add(1);
            let elapsed = self.run.elapsed().duration();
            self.write(vec![Event::AttemptStarted { attempt, elapsed }], true).await?;
        }
        self.run.start();
        Ok(Some(Charged::Attempt))
    }

    /// The attempt waits for permission; `Answered` where the operation exists by
    /// now.
    async fn defer(
        &mut self,
        asked: &Asked,
        deferral: Deferral,
        situation: Situation,
    ) -> Result<Option<Charged<T, E>>, Stopped<E>> {
        if self.stage == Stage::New
            && let Some(record) = self.enqueue(asked, false).await?
        {
            return Ok(self.go_on(asked, record).await.map(Charged::Answered));
        }
        self.keep_deferral(deferral, situation).await.map(|()| None)
    }

    async fn keep_deferral(
        &mut self,
        deferral: Deferral,
        situation: Situation,
    ) -> Result<(), Stopped<E>> {
        let event = Event::Deferred {
            elapsed: deferral.at(),
            reason: deferral.reason(),
            until: deferral.until(),
            situation: situation.recorded(self.run.policy()),
        };
        self.write(vec![event], true).await?;
        self.run.deferred(deferral);
        Ok(())
    }

    /// Begins the record; `Some` with the one of another call that was faster.
    async fn enqueue(
        &mut self,
        asked: &Asked,
        started: bool,
    ) -> Result<Option<Box<Record>>, Stopped<E>> {
        let Asked { store, arguments } = asked;
        let claim = Claim::new(store, RecordId::new(), 1, &self.keeping, self.run.clock());
        let new = New {
            record: claim.record(),
            operation: self.run.id(),
            safety: self.spec.safety(),
            policy: *self.spec.policy(),
            arguments: arguments.clone(),
            queue: String::new(),
            code_version: self.keeping.code_version.as_deref().map(str::to_owned),
            keep: self.keeping.keep,
            held: Some((claim.holder(), self.keeping.lease)),
            started,
        };
        self.claim = Some(claim);
        self.stage = Stage::Held;
        match store.enqueue(new).await {
            Ok(Enqueued::New(_)) => Ok(None),
            Ok(Enqueued::Existing(record)) => {
                self.claim = None;
                self.stage = Stage::New;
                Ok(Some(record))
            }
            Err(error) => Err(self.store_failed(error)),
        }
    }
}

/// What comes of an attempt.
impl<T, E> DurableRun<'_, T, E> {
    fn poll_body<F>(
        &mut self,
        body: Pin<&mut Option<F>>,
        cx: &mut Context<'_>,
    ) -> Poll<Outcome<T, E>>
    where
        F: Future<Output = Result<T, E>>,
    {
        if let Some(claim) = &mut self.claim
            && !ready!(claim.poll_held(cx))
        {
            return Poll::Ready(Outcome::Lost);
        }
        self.stage = Stage::Polled;
        let polled = self.run.poll_inside(|| match body.as_pin_mut() {
            Some(body) => body.poll(cx),
            None => Poll::Pending,
        });
        match polled {
            Poll::Ready(Ok(value)) => Poll::Ready(Outcome::Value(value)),
            Poll::Ready(Err(error)) => Poll::Ready(Outcome::Error(error)),
            Poll::Pending => self.run.poll_cut(cx).map(|()| Outcome::Cut),
        }
    }

    /// Keeps the result; then it is the caller's.
    async fn complete(&mut self, value: T) -> Done<T, E> {
        let (attempt, elapsed) = (self.run.number(), self.run.now().duration());
        let result = match self.written(&value) {
            Ok(result) => result,
            Err(error) => return Err(self.unkept(attempt, elapsed, error).await),
        };
        let Some(claim) = &self.claim else {
            return Err(self.lost());
        };
        let change = Change::complete(claim.fence(), attempt, elapsed, result);
        self.commit(change).await?;
        self.run.succeed();
        Ok(value)
    }

    fn written(&self, value: &T) -> Result<String, StoreError> {
        let unwritable = |error: serde_json::Error| RecordError::Unwritable {
            what: "the result",
            why: error.to_string(),
        };
        let result = (self.form.write)(value).map_err(unwritable)?;
        self.limits().check_result(&result)?;
        // JSON has no NaN: whoever asks again must be given the value.
        match (self.form.read)(&result) {
            Ok(_) => Ok(result),
            Err(error) => {
                let why = format!("it does not read back: {error}");
                Err(RecordError::Unwritable { what: "the result", why }.into())
            }
        }
    }

    /// The attempt took effect, and its result cannot be kept: a person must give it.
    async fn unkept(&mut self, attempt: u32, elapsed: Duration, error: StoreError) -> Stopped<E> {
        let text = format!("the attempt succeeded, and its result cannot be kept: {error}");
        let reason = StopReason::ManualReview;
        let review = Event::ReviewOpened { elapsed, reason, text: text.clone() };
        let events = vec![Event::succeeded(attempt, elapsed), review];
        self.end(events, Stop::said(reason, text)).await
    }

    /// A failed attempt and what follows, as events.
    fn events_of(&mut self, failed: &Failed<E>, ended: Ended) -> Vec<Event> {
        let Failed { failure, error, describe, decision, situation } = failed;
        let (attempt, elapsed) = (self.run.number(), self.run.elapsed().duration());
        let id = self.run.id();
        let policy = self.run.policy();
        let recorded = situation.recorded(policy);
        let text =
            error.as_ref().zip(*describe).and_then(|(error, describe)| text_of(error, describe));
        let finished = Event::AttemptFinished {
            attempt,
            elapsed,
            ended,
            failure: Some(*failure),
            error: text,
            situation: recorded,
        };
        let ledger = self.run.ledger();
        let followed = Event::of_failure(decision, policy, &ledger, situation, &id, failure);
        let deferred = match decision {
            Decision::ScheduleRetry(wait) => deferral_of(wait),
            _ => None,
        };
        let deferred = deferred.map(|deferral| Event::Deferred {
            elapsed,
            reason: deferral.reason(),
            until: deferral.until(),
            situation: recorded,
        });
        [Some(finished), followed, deferred].into_iter().flatten().collect()
    }

    /// Waits for the next attempt, under the lease.
    async fn wait(&mut self) -> Result<(), Stopped<E>> {
        let Self { run, claim, .. } = self;
        let waited = poll_fn(|cx| {
            if is_lost(claim, cx) {
                return Poll::Ready(Err(()));
            }
            run.poll_next(cx).map(Ok)
        });
        match waited.await {
            Ok(None) => Ok(()),
            Ok(Some(halt)) => Err(self.halt(halt).await),
            Err(()) => Err(self.lost()),
        }
    }

    /// A stop where no failure was judged. Where nothing is kept yet, nothing is.
    async fn halt(&mut self, halt: Halt) -> Stopped<E> {
        let Halt { stop, situation } = halt;
        if self.stage == Stage::New {
            return self.run.stop(stop);
        }
        let situation = situation.recorded(self.run.policy());
        let event = Event::of_stop(&stop, self.run.elapsed().duration(), None, situation);
        self.end(vec![event], stop).await
    }

    /// Keeps what happened, ends the lease, and stops. Where nothing happened, the
    /// stop is this call's alone, and the record stays as it is.
    async fn end(&mut self, events: Vec<Event>, stop: Stop) -> Stopped<E> {
        match self.write(events, false).await {
            Ok(()) => self.run.stop(stop),
            Err(stopped) => stopped,
        }
    }

    /// Keeps what happened before anything else does; the lease goes on, or ends.
    async fn write(&mut self, events: Vec<Event>, keeps: bool) -> Result<(), Stopped<E>> {
        let Some(claim) = &self.claim else {
            return Err(self.lost());
        };
        let fence = claim.fence();
        self.commit(Change::Append { fence, events, keeps, result: None }).await
    }

    async fn commit(&mut self, change: Change) -> Result<(), Stopped<E>> {
        let Some(claim) = &mut self.claim else {
            return Err(self.lost());
        };
        let mut kept = first(claim.commit(change.clone()).await);
        // What a body has come to is known here only: as long as it is held, the
        // store may yet find room, or be let in.
        while self.stage == Stage::Polled && is_passing(&kept) && claim.rest().await {
            kept = first(claim.commit(change.clone()).await);
        }
        match kept {
            Ok(Ok(head)) => {
                self.stage = Stage::Held;
                if head.lease.held.is_none() {
                    self.claim = None;
                }
                Ok(())
            }
            // Not what the record leads to, by the store's own judgement.
            Ok(Err(Refused::Illegal(error))) => Err(self.store_failed(error.into())),
            Ok(Err(_)) => Err(self.lost()),
            Err(error) => Err(self.store_failed(error)),
        }
    }

    /// The operation is held no more, as far as anybody knows: nothing is written.
    fn lost(&mut self) -> Stopped<E> {
        let unconfirmed = self.claim.take().is_some_and(|claim| claim.is_unconfirmed());
        self.run.stop(match unconfirmed {
            true => Stop::said(StopReason::LeaseLost, UNCONFIRMED),
            false => Stop::new(StopReason::LeaseLost),
        })
    }

    /// What is held is abandoned when the operation is dropped.
    fn store_failed(&mut self, error: StoreError) -> Stopped<E> {
        self.run.stop(Stop::store_failed(error))
    }

    fn limits(&self) -> Limits {
        self.keeping.store.as_ref().map_or_else(Limits::default, |store| store.limits())
    }
}

/// An operation that is dropped leaves what it holds: an attempt whose body was
/// polled has failed, one that was not is given back. Nothing is waited for.
impl<T, E> Drop for DurableRun<'_, T, E> {
    fn drop(&mut self) {
        let Some(claim) = self.claim.take() else {
            return;
        };
        let panicked = std::thread::panicking();
        // Whatever panicked may have been the clock.
        let elapsed = if panicked { self.run.elapsed() } else { self.run.now() };
        let ended = if panicked { Ended::Panicked } else { Ended::Dropped };
        let ended = (self.stage == Stage::Polled).then_some(ended);
        claim.abandon(ended, elapsed.duration(), self.run.situation());
    }
}

fn is_lost(claim: &mut Option<Claim>, cx: &mut Context<'_>) -> bool {
    claim.as_mut().is_some_and(|claim| claim.poll_lost(cx).is_ready())
}

/// Of a store that was asked for one.
fn first<T>(
    answers: Result<Vec<Result<T, Refused>>, StoreError>,
) -> Result<Result<T, Refused>, StoreError> {
    answers.map(|answers| answers.into_iter().next().unwrap_or(Err(Refused::Missing)))
}

/// Whether nothing was written, and the same may be written later.
const fn is_passing<T>(kept: &Result<T, StoreError>) -> bool {
    matches!(kept, Err(StoreError::Busy { .. } | StoreError::Full { .. }))
}

/// An error's text, cut where it is long: a record is kept for years.
fn text_of<E>(error: &E, describe: Describe<E>) -> Option<String> {
    const LONGEST: usize = 2048;
    let mut text = None;
    // The author's code.
    contain(|| text = describe(error).map(|error| error.to_string()));
    let mut text = text?;
    if text.len() > LONGEST {
        let end = (0..=LONGEST).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
    Some(text)
}

impl<T, E> fmt::Debug for DurableRun<'_, T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DurableRun").field("run", &self.run).finish_non_exhaustive()
    }
}
