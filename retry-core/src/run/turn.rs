//! The futures that a loop awaits: its turns, and what runs between them.

use std::fmt;
use std::future::Future;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use super::{Admission, Halt, Phase, Run};
use crate::classify::Failure;
use crate::clock::Waiting;
use crate::decide::{OnRefusal, Refusal};
use crate::judge::{Classifier, Judged, Rejecter};
use crate::nanos::Nanos;
use crate::safety::Safety;
use crate::scope::{self, Told};
use crate::stopped::Stopped;

/// A turn: an attempt and, where another follows, the wait for it. `Some` with
/// the operation's result, or `None` when it is the next attempt's turn.
///
/// One future for both, because each that a function awaits costs its author a
/// millisecond of the compiler. It judges what the body gave where the body gave
/// it: an error is moved only when there is one.
#[must_use = "futures do nothing unless polled"]
pub struct Turn<'r, 'a, E, F, C, R> {
    run: &'r mut Run<'a, E>,
    /// Nothing once it failed or was cut: it holds nothing during the wait.
    body: Pin<&'r mut Option<F>>,
    judge: C,
    reject: R,
}

impl<'r, 'a, E, F, C, R> Turn<'r, 'a, E, F, C, R> {
    #[inline]
    pub(super) const fn new(
        run: &'r mut Run<'a, E>,
        body: Pin<&'r mut Option<F>>,
        judge: C,
        reject: R,
    ) -> Self {
        Self { run, body, judge, reject }
    }
}

// No field is pinned in place.
impl<E, F, C, R> Unpin for Turn<'_, '_, E, F, C, R> {}

impl<T, E, F, C, R> Future for Turn<'_, '_, E, F, C, R>
where
    F: Future<Output = Result<T, E>>,
    C: Classifier<E>,
    R: Rejecter<T>,
{
    type Output = Option<Result<T, Stopped<E>>>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { run, body, judge, reject } = &mut *self;
        if run.phase > Phase::PlainTimed {
            match run.before_body(cx) {
                Before::Body => {}
                Before::Stopped(stopped) => return Poll::Ready(Some(Err(stopped))),
                Before::Waited => return Poll::Ready(None),
                Before::Waiting => return Poll::Pending,
            }
        }
        let mut failed = None;
        let polled =
            run.poll_inside(|| match body.as_mut().as_pin_mut().map(|body| body.poll(cx)) {
                Some(Poll::Ready(Ok(value))) => Poll::Ready(Some(value)),
                Some(Poll::Ready(Err(error))) => {
                    keep(&mut failed, error);
                    Poll::Ready(None)
                }
                Some(Poll::Pending) | None => Poll::Pending,
            });
        let stopped = match polled {
            Poll::Ready(Some(value)) => {
                // Nothing failed: without this, the compiler asks once more.
                std::mem::forget(failed);
                // A rejected value that no attempt can follow is the caller's.
                if !reject.rejects(&value) {
                    run.succeed();
                    return Poll::Ready(Some(Ok(value)));
                }
                if run.fail(Judged::new(Failure::rejected(), None), None).is_some() {
                    return Poll::Ready(Some(Ok(value)));
                }
                None
            }
            Poll::Ready(None) => {
                let cut = Judged::new(Failure::timeout(), None);
                run.fail(failed.as_ref().map_or(cut, |error| judge.judge(error)), failed)
            }
            Poll::Pending => {
                ready!(run.poll_cut(cx));
                // What runs inside is cancelled before anyone hears of the cut.
                let_go(body.as_mut());
                run.fail(Judged::new(Failure::timeout(), None), None)
            }
        };
        let_go(body.as_mut());
        match stopped {
            Some(stopped) => Poll::Ready(Some(Err(stopped))),
            None => run.poll_next(cx).map(|halt| halt.map(|halt| Err(run.stop(halt.stop)))),
        }
    }
}

/// A place in line that is due later than this has no time: only further calls can
/// bring its token.
const UNKNOWN: Duration = Duration::from_secs(100 * 365 * 86_400);

/// What a turn finds that does not begin with the first attempt of a plain
/// operation.
pub(super) enum Before<E> {
    /// An attempt that runs, or has just begun.
    Body,
    Stopped(Stopped<E>),
    /// The wait is over.
    Waited,
    Waiting,
}

impl<E> Run<'_, E> {
    #[cold]
    pub(super) fn before_body(&mut self, cx: &mut Context<'_>) -> Before<E> {
        loop {
            let was = self.phase;
            let before = match was {
                Phase::Fresh | Phase::Between => match self.begin_judged() {
                    Ok(true) => Before::Body,
                    Ok(false) => continue,
                    Err(stopped) => Before::Stopped(stopped),
                },
                Phase::Yield | Phase::Wait | Phase::Line | Phase::Deferred => {
                    match self.poll_next(cx) {
                        Poll::Ready(Some(halt)) => Before::Stopped(self.stop(halt.stop)),
                        // The same attempt asks again.
                        Poll::Ready(None) if was == Phase::Deferred => continue,
                        Poll::Ready(None) => Before::Waited,
                        Poll::Pending => Before::Waiting,
                    }
                }
                _ => Before::Body,
            };
            return before;
        }
    }

    /// Waits for the next attempt, unless retries are switched off.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Halt>> {
        if let Some(handed) = &mut *self.held.handed
            && !handed.may_wait(cx.waker())
            && let Some(halt) = self.called_off()
        {
            return Poll::Ready(Some(halt));
        }
        if matches!(self.phase, Phase::Yield | Phase::Wait) {
            ready!(self.poll_wait(cx));
            if self.protection().is_some_and(|(protection, _)| protection.has_place()) {
                self.phase = Phase::Line;
            }
        }
        if matches!(self.phase, Phase::Line | Phase::Deferred)
            && let Some(halt) = ready!(self.poll_permit(cx))
        {
            return Poll::Ready(Some(halt));
        }
        if let Some(handed) = &mut *self.held.handed {
            handed.waited();
        }
        Poll::Ready(None)
    }

    /// Waits for what the resource refuses: its token, or the breaker.
    #[cold]
    fn poll_permit(&mut self, cx: &mut Context<'_>) -> Poll<Option<Halt>> {
        let elapsed = self.now();
        let now = self.instant(elapsed);
        let in_line = self.phase == Phase::Line;
        let at = match (now, self.protection()) {
            (Some(now), Some((protection, _))) => protection.poll_permit(cx, now).err(),
            _ => None,
        };
        self.elapsed = elapsed;
        let Some(at) = at else {
            let is_first = self.held.handed.as_ref().is_some_and(|handed| !handed.has_begun);
            self.phase = if is_first { Phase::Fresh } else { Phase::Between };
            return Poll::Ready(None);
        };
        let at = self.since_start(at);
        if in_line {
            // Others came in between: it may have become too late.
            let known = Some(at).filter(|at| *at < UNKNOWN);
            let refusal = Refusal::budget(known).on_refusal(OnRefusal::Defer);
            if let Admission::Halted(halt) = self.judge_start(Some(refusal)) {
                return Poll::Ready(Some(halt));
            }
        }
        // A time that has passed already would be polled for.
        let soon = elapsed.plus(Nanos::from_duration(Duration::from_nanos(1)));
        self.set_timer(Nanos::from_duration(at).max(soon));
        if self.poll_timer(cx).is_ready() {
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }

    /// `None` where retries are on again by now: the wait goes on as it was.
    #[cold]
    fn called_off(&mut self) -> Option<Halt> {
        self.elapsed = self.now();
        // It waits for the breaker.
        let deferred = (self.phase == Phase::Deferred)
            .then(|| Refusal::breaker(Some(Duration::ZERO)).on_refusal(OnRefusal::Defer));
        match self.judge_start(deferred) {
            Admission::Halted(halt) => Some(halt),
            _ => None,
        }
    }

    /// Waits for the next attempt. A turn of the executor passes at least.
    fn poll_wait(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.phase == Phase::Yield {
            self.phase = Phase::Wait;
            if self.until > self.elapsed {
                self.set_timer(self.until);
                ready!(self.poll_timer(cx));
            }
            // Nothing to wait for, or a timer that is ready at once: the
            // executor gets its turn all the same.
            self.until = Nanos::ZERO;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        if !self.until.is_zero() {
            ready!(self.poll_timer(cx));
        }
        self.phase = Phase::Between;
        self.elapsed = self.now();
        Poll::Ready(())
    }
}

/// The start of an attempt, awaited by a body that wants to know which one it is.
#[must_use = "futures do nothing unless polled"]
pub struct Begin<'r, 'a, E> {
    run: &'r mut Run<'a, E>,
}

impl<'r, 'a, E> Begin<'r, 'a, E> {
    #[inline]
    pub(super) const fn new(run: &'r mut Run<'a, E>) -> Self {
        Self { run }
    }
}

impl<E> Future for Begin<'_, '_, E> {
    type Output = Result<(), Stopped<E>>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if self.run.phase == Phase::Plain {
            return Poll::Ready(Ok(()));
        }
        match self.run.before_body(cx) {
            Before::Body | Before::Waited => Poll::Ready(Ok(())),
            Before::Stopped(stopped) => Poll::Ready(Err(stopped)),
            Before::Waiting => Poll::Pending,
        }
    }
}

/// Drops a body that is done or cut.
#[cold]
#[inline(never)]
fn let_go<F>(mut body: Pin<&mut Option<F>>) {
    body.set(None);
}

/// Out of line, so that an attempt that succeeds moves no error.
#[cold]
#[inline(never)]
fn keep<E>(failed: &mut Option<E>, error: E) {
    *failed = Some(error);
}

/// What runs between a wait and the next attempt. Cut at the deadline.
#[must_use = "futures do nothing unless polled"]
pub struct Hooked<'r, 'a, E, F> {
    run: &'r mut Run<'a, E>,
    hook: Pin<&'r mut F>,
}

impl<'r, 'a, E, F> Hooked<'r, 'a, E, F> {
    pub(super) const fn new(run: &'r mut Run<'a, E>, hook: Pin<&'r mut F>) -> Self {
        Self { run, hook }
    }
}

impl<E, F: Future<Output = ()>> Future for Hooked<'_, '_, E, F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Self { run, hook } = &mut *self;
        let polled = run.poll_inside(|| hook.as_mut().poll(cx));
        if polled.is_pending() && run.poll_cut(cx).is_pending() {
            return Poll::Pending;
        }
        // A cut shows in the time that the next attempt is judged by.
        run.elapsed = run.now();
        Poll::Ready(())
    }
}

impl<E> Run<'_, E> {
    #[inline]
    pub(crate) fn poll_inside<T>(&mut self, poll: impl FnOnce() -> T) -> T {
        let mut told = Told::NOTHING;
        let output = {
            let _span = self.trace.enter();
            if self.frame.is_clocked() {
                scope::bring_clock(self.clock().clone());
            }
            scope::enter(&self.frame, &mut told, poll)
        };
        if !told.is_nothing() {
            self.hear(told);
        }
        output
    }

    /// What an `at_most_once` operation calls is its own: to whatever is around
    /// it, it was counted when it began. And of the stops inside, what is around
    /// it hears of its own.
    #[cold]
    fn hear(&mut self, told: Told) {
        self.told = self.told.and(told);
        if self.spec.safety() != Safety::AtMostOnce {
            scope::count_effects(told.effects());
        }
    }

    #[inline]
    pub(crate) fn poll_cut(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.phase == Phase::Plain { self.poll_first_cut(cx) } else { self.poll_other_cut(cx) }
    }

    /// The first time that a plain operation waits.
    #[inline(never)]
    fn poll_first_cut(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.phase = Phase::PlainTimed;
        let at = self.frame.since.and_then(|start| start.checked_add(self.spec.first_cut()));
        let at = at.unwrap_or_else(|| self.far());
        let mut waiting = Waiting::on_runtime();
        let polled = waiting.as_mut().start(at, cx);
        // There was none, so nothing is forgotten.
        self.held.waiting = ManuallyDrop::new(Some(waiting));
        if polled.is_pending() { Poll::Pending } else { self.judge_cut(cx) }
    }

    #[inline(never)]
    fn poll_other_cut(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if matches!(self.phase, Phase::PlainTimed | Phase::TimedAttempt) {
            return self.poll_cut_again(cx);
        }
        self.set_timer(self.cut());
        if self.in_attempt() {
            self.phase = Phase::TimedAttempt;
        }
        // A task that has used up its budget is polled again at once.
        if self.poll_timer(cx).is_pending() { Poll::Pending } else { self.judge_cut(cx) }
    }

    fn poll_cut_again(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let polled = match &mut *self.held.waiting {
            Some(waiting) => waiting.as_mut().poll_unconstrained(cx),
            None => Poll::Pending,
        };
        if polled.is_pending() { Poll::Pending } else { self.judge_cut(cx) }
    }

    #[cold]
    fn judge_cut(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let at = self.instant(self.cut()).unwrap_or_else(|| self.far());
        match &mut *self.held.waiting {
            Some(waiting) => waiting.as_mut().judge(at, cx),
            None => Poll::Pending,
        }
    }

    #[inline]
    pub(super) fn poll_timer(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut *self.held.waiting {
            Some(waiting) => waiting.as_mut().poll(cx),
            None => Poll::Ready(()),
        }
    }

    /// Sets the one timer, for a time since the start.
    #[inline]
    pub(super) fn set_timer(&mut self, at: Nanos) {
        let at = self.instant(at).unwrap_or_else(|| self.far());
        match &mut *self.held.waiting {
            Some(waiting) => waiting.as_mut().set(at),
            none => none.insert(Waiting::on_runtime()).as_mut().set(at),
        }
    }

    /// Later than any process runs, and within what every platform counts.
    #[cold]
    fn far(&self) -> Instant {
        const YEAR: Duration = Duration::from_secs(365 * 86_400);
        let now = self.clock().now();
        now.checked_add(YEAR).unwrap_or(now)
    }
}

impl<E, F, C, R> fmt::Debug for Turn<'_, '_, E, F, C, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn").field("run", &self.run).finish_non_exhaustive()
    }
}

impl<E> fmt::Debug for Begin<'_, '_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Begin").field("run", &self.run).finish()
    }
}

impl<E, F> fmt::Debug for Hooked<'_, '_, E, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hooked").field("run", &self.run).finish_non_exhaustive()
    }
}
