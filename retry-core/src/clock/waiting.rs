//! What an operation waits by: its clock and one timer, for the cut of an
//! attempt and for the wait after it.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use pin_project_lite::pin_project;

use super::{ClockHandle, Sleep};

pin_project! {
    /// Boxed, and made only when an operation waits or brings a clock.
    pub(crate) struct Waiting {
        clock: ClockHandle,
        #[pin]
        runtime: Option<runtime::Sleep>,
        shared: Option<(Instant, Sleep)>,
    }
}

thread_local! {
    /// The box of an operation that ended on this thread. Most operations wait,
    /// one after the other, so most of them need no allocation.
    static SPARE: Cell<Option<Pin<Box<Waiting>>>> = const { Cell::new(None) };
}

impl Waiting {
    /// Waits by the runtime's clock.
    #[inline]
    pub(crate) fn on_runtime() -> Pin<Box<Self>> {
        match SPARE.try_with(Cell::take) {
            Ok(Some(spare)) => spare,
            _ => Self::new(ClockHandle::RUNTIME),
        }
    }

    /// Sets the timer of the runtime's clock, and asks it.
    #[inline]
    pub(crate) fn start(self: Pin<&mut Self>, at: Instant, cx: &mut Context<'_>) -> Poll<()> {
        let mut runtime = self.project().runtime;
        runtime.set(Some(runtime::sleep_until(at)));
        match runtime.as_pin_mut() {
            Some(sleep) => sleep.poll(cx),
            None => Poll::Pending,
        }
    }

    #[cold]
    pub(crate) fn new(clock: ClockHandle) -> Pin<Box<Self>> {
        Box::pin(Self { clock, runtime: None, shared: None })
    }

    /// Lets go of the timer, and keeps the box for the next operation.
    #[inline]
    pub(crate) fn retire(this: &mut Option<Pin<Box<Self>>>) {
        if let Some(mut this) = this.take()
            && this.clock.is_runtime()
        {
            this.as_mut().project().runtime.set(None);
            // On a thread that is being torn down the box is freed.
            let _ = SPARE.try_with(|spare| spare.set(Some(this)));
        }
    }

    pub(crate) const fn clock(&self) -> &ClockHandle {
        &self.clock
    }

    /// When the timer is due.
    fn at(&self) -> Option<Instant> {
        match (&self.runtime, &self.shared) {
            (Some(sleep), _) => Some(runtime::due(sleep)),
            (None, shared) => shared.as_ref().map(|&(at, _)| at),
        }
    }

    /// Sets the timer; nothing happens where it is set for `at` already.
    pub(crate) fn set(self: Pin<&mut Self>, at: Instant) {
        if self.at() != Some(at) {
            self.set_anew(at);
        }
    }

    fn set_anew(self: Pin<&mut Self>, at: Instant) {
        let mut this = self.project();
        match (this.clock.get(), this.runtime.as_mut().as_pin_mut()) {
            (Some(clock), _) => *this.shared = Some((at, clock.sleep_until(at))),
            (None, Some(sleep)) => runtime::reset(sleep, at),
            (None, None) => this.runtime.set(Some(runtime::sleep_until(at))),
        }
    }

    /// Ready when the timer says so. It is set before.
    #[inline]
    pub(crate) fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        match this.runtime.as_pin_mut() {
            Some(sleep) => sleep.poll(cx),
            None => poll_shared(this.shared, cx),
        }
    }

    /// As [`poll`](Self::poll), whatever the task has left of its runtime's
    /// budget: a body that uses it up at every turn must not hold back the timer
    /// that cuts it.
    pub(crate) fn poll_unconstrained(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        match this.runtime.as_pin_mut() {
            Some(sleep) => runtime::poll_unconstrained(sleep, cx),
            None => poll_shared(this.shared, cx),
        }
    }

    /// Judges a timer that was set for `at` and is ready: the clock must agree.
    /// One that is early is set again, and one that is early twice is asked
    /// again on the executor's next turn, so that it cannot hold the thread.
    #[cold]
    pub(crate) fn judge(mut self: Pin<&mut Self>, at: Instant, cx: &mut Context<'_>) -> Poll<()> {
        if self.clock.now() >= at {
            return Poll::Ready(());
        }
        self.as_mut().set_anew(at);
        if self.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        if self.clock.now() >= at {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

/// A future that is done is not polled again.
fn poll_shared(shared: &mut Option<(Instant, Sleep)>, cx: &mut Context<'_>) -> Poll<()> {
    if let Some((_, sleep)) = shared {
        ready!(sleep.as_mut().poll(cx));
    }
    *shared = None;
    Poll::Ready(())
}

/// tokio's timer.
#[cfg(feature = "tokio")]
mod runtime {
    use super::{Context, Future, Instant, Pin, Poll};

    pub(super) type Sleep = tokio::time::Sleep;

    #[inline]
    pub(super) fn sleep_until(at: Instant) -> Sleep {
        tokio::time::sleep_until(at.into())
    }

    pub(super) fn due(sleep: &Sleep) -> Instant {
        sleep.deadline().into_std()
    }

    pub(super) fn reset(sleep: Pin<&mut Sleep>, at: Instant) {
        sleep.reset(at.into());
    }

    pub(super) fn poll_unconstrained(sleep: Pin<&mut Sleep>, cx: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut tokio::task::unconstrained(sleep)).poll(cx)
    }
}

/// No runtime's timer.
#[cfg(not(feature = "tokio"))]
mod runtime {
    use super::{Context, Future, Instant, Pin, Poll};

    /// Never asked: without a clock an operation is refused before its first
    /// attempt.
    pub(super) type Sleep = std::future::Pending<()>;

    pub(super) fn sleep_until(_: Instant) -> Sleep {
        std::future::pending()
    }

    pub(super) fn due(_: &Sleep) -> Instant {
        Instant::now()
    }

    pub(super) const fn reset(_: Pin<&mut Sleep>, _: Instant) {}

    pub(super) fn poll_unconstrained(sleep: Pin<&mut Sleep>, cx: &mut Context<'_>) -> Poll<()> {
        sleep.poll(cx)
    }
}
