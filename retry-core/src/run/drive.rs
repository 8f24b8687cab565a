//! The futures of a turn: an attempt, and the wait after it.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use super::{Phase, Run};
use crate::clock::{ClockHandle, Waiting};
use crate::decide::Safety;
use crate::nanos::Nanos;
use crate::scope;

/// A body that is being driven. The output is `None` when it was cut.
#[must_use = "futures do nothing unless polled"]
pub struct Driven<'r, 'a, E, F> {
    run: &'r mut Run<'a, E>,
    body: Pin<&'r mut F>,
}

impl<'r, 'a, E, F> Driven<'r, 'a, E, F> {
    #[inline]
    pub(super) const fn new(run: &'r mut Run<'a, E>, body: Pin<&'r mut F>) -> Self {
        Self { run, body }
    }
}

impl<E, F: Future> Future for Driven<'_, '_, E, F> {
    type Output = Option<F::Output>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { run, body } = &mut *self;
        match run.poll_inside(body.as_mut(), cx) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending => run.poll_cut(cx).map(|()| None),
        }
    }
}

/// The wait before the next attempt.
#[must_use = "futures do nothing unless polled"]
pub struct Waited<'r, 'a, E> {
    run: &'r mut Run<'a, E>,
}

impl<'r, 'a, E> Waited<'r, 'a, E> {
    pub(super) const fn new(run: &'r mut Run<'a, E>) -> Self {
        Self { run }
    }
}

impl<E> Future for Waited<'_, '_, E> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let run = &mut *self.run;
        match run.phase {
            Phase::Yield => {
                run.phase = Phase::Wait;
                if run.until > run.elapsed {
                    let mut waiting = run.set_timer(run.until);
                    if waiting.as_mut().poll(cx).is_pending() {
                        return Poll::Pending;
                    }
                }
                // Nothing to wait for, or a timer that is ready at once: the
                // executor gets its turn all the same.
                run.phase = Phase::Between;
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            Phase::Wait => {
                let mut waiting = run.set_timer(run.until);
                if waiting.as_mut().poll(cx).is_pending() {
                    return Poll::Pending;
                }
            }
            Phase::Plain | Phase::Fresh | Phase::Attempt | Phase::Between | Phase::Done => {}
        }
        run.phase = Phase::Between;
        run.elapsed = run.now();
        Poll::Ready(())
    }
}

impl<E> Run<'_, E> {
    #[inline]
    fn poll_inside<F: Future>(
        &mut self,
        future: Pin<&mut F>,
        cx: &mut Context<'_>,
    ) -> Poll<F::Output> {
        let contained = self.spec.safety() == Safety::AtMostOnce;
        let _span = self.trace.enter();
        let poll = || future.poll(cx);
        let (polled, effects) = match &*self.held.waiting {
            Some(waiting) if !waiting.clock().is_runtime() => {
                scope::enter_on(waiting.clock(), self.frame, contained, poll)
            }
            _ => scope::enter(self.frame, contained, poll),
        };
        if effects > 0 {
            self.effects = self.effects.saturating_add(effects);
        }
        polled
    }

    #[inline(never)]
    fn poll_cut(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.set_timer(self.cut()).poll_on_time(cx)
    }

    /// Sets the one timer, for a time since the start.
    fn set_timer(&mut self, at: Nanos) -> Pin<&mut Waiting> {
        let at = self.instant(at).unwrap_or_else(|| self.far());
        let waiting = self.held.waiting.get_or_insert_with(|| Waiting::new(ClockHandle::RUNTIME));
        let mut waiting = waiting.as_mut();
        waiting.as_mut().set(at);
        waiting
    }

    /// Later than any process runs, and within what every platform counts.
    fn far(&self) -> Instant {
        const YEAR: Duration = Duration::from_secs(365 * 86_400);
        let now = self.clock().now();
        now.checked_add(YEAR).unwrap_or(now)
    }
}

impl<E, F> fmt::Debug for Driven<'_, '_, E, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driven").field("run", &self.run).finish_non_exhaustive()
    }
}

impl<E> fmt::Debug for Waited<'_, '_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waited").field("run", &self.run).finish()
    }
}
