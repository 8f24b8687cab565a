//! What an operation waits by: its clock and one timer, for the cut of an
//! attempt and for the wait after it.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use pin_project_lite::pin_project;

use super::{ClockHandle, Sleep};

pin_project! {
    /// Boxed, and made only when an operation waits or brings a clock.
    pub(crate) struct Waiting {
        clock: ClockHandle,
        // What the timer is set for; nothing once it was ready: a future that is
        // done is not polled again.
        at: Option<Instant>,
        #[pin]
        runtime: Option<RuntimeSleep>,
        shared: Option<Sleep>,
    }
}

#[cfg(feature = "tokio")]
type RuntimeSleep = tokio::time::Sleep;

/// Without a runtime's clock nothing waits on it: refused before the first
/// attempt.
#[cfg(not(feature = "tokio"))]
type RuntimeSleep = std::future::Pending<()>;

thread_local! {
    /// The box of an operation that ended on this thread. Most operations wait,
    /// one after the other, so most of them need no allocation.
    static SPARE: Cell<Option<Pin<Box<Waiting>>>> = const { Cell::new(None) };
}

impl Waiting {
    /// Waits by the runtime's clock.
    pub(crate) fn on_runtime() -> Pin<Box<Self>> {
        match SPARE.try_with(Cell::take) {
            Ok(Some(spare)) => spare,
            _ => Self::new(ClockHandle::RUNTIME),
        }
    }

    pub(crate) fn new(clock: ClockHandle) -> Pin<Box<Self>> {
        Box::pin(Self { clock, at: None, runtime: None, shared: None })
    }

    /// Lets go of the timer, and keeps the box for the next operation.
    pub(crate) fn retire(mut this: Pin<Box<Self>>) {
        if this.clock.is_runtime() {
            let mut parts = this.as_mut().project();
            parts.runtime.set(None);
            *parts.at = None;
            // On a thread that is being torn down the box is freed.
            let _ = SPARE.try_with(|spare| spare.set(Some(this)));
        }
    }

    pub(crate) const fn clock(&self) -> &ClockHandle {
        &self.clock
    }

    /// Sets the timer; nothing happens where it is set for `at` already.
    pub(crate) fn set(self: Pin<&mut Self>, at: Instant) {
        if self.at != Some(at) {
            self.set_anew(at);
        }
    }

    fn set_anew(self: Pin<&mut Self>, at: Instant) {
        let mut this = self.project();
        *this.at = Some(at);
        match this.clock.get() {
            None => sleep_again(&mut this.runtime, at),
            Some(clock) => *this.shared = Some(clock.sleep_until(at)),
        }
    }

    /// Ready when the timer says so. It is set before.
    pub(crate) fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        let polled = match (this.runtime.as_pin_mut(), this.shared) {
            (Some(sleep), _) => poll_runtime(sleep, cx),
            (None, Some(sleep)) => sleep.as_mut().poll(cx),
            (None, None) => Poll::Ready(()),
        };
        if polled.is_ready() {
            *this.at = None;
        }
        polled
    }

    /// Ready when the timer says so and the clock agrees. A timer that is early
    /// is set again, and one that is early twice is asked again on the
    /// executor's next turn, so that it cannot hold the thread.
    #[inline]
    pub(crate) fn poll_on_time(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let at = self.at;
        if self.as_mut().poll(cx).is_pending() { Poll::Pending } else { self.judge(at, cx) }
    }

    #[cold]
    fn judge(mut self: Pin<&mut Self>, at: Option<Instant>, cx: &mut Context<'_>) -> Poll<()> {
        for is_last in [false, true] {
            let Some(at) = at.filter(|at| self.clock.now() < *at) else {
                return Poll::Ready(());
            };
            self.as_mut().set_anew(at);
            if !is_last && self.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

#[cfg(feature = "tokio")]
fn sleep_again(runtime: &mut Pin<&mut Option<RuntimeSleep>>, at: Instant) {
    match runtime.as_mut().as_pin_mut() {
        Some(sleep) => sleep.reset(at.into()),
        None => runtime.set(Some(tokio::time::sleep_until(at.into()))),
    }
}

/// A body that has used up tokio's budget for this turn must not hold back the
/// timer that cuts it.
#[cfg(feature = "tokio")]
#[inline]
fn poll_runtime(sleep: Pin<&mut RuntimeSleep>, cx: &mut Context<'_>) -> Poll<()> {
    if tokio::task::coop::has_budget_remaining() {
        sleep.poll(cx)
    } else {
        Pin::new(&mut tokio::task::unconstrained(sleep)).poll(cx)
    }
}

#[cfg(not(feature = "tokio"))]
fn sleep_again(runtime: &mut Pin<&mut Option<RuntimeSleep>>, _at: Instant) {
    runtime.set(Some(std::future::pending()));
}

#[cfg(not(feature = "tokio"))]
fn poll_runtime(sleep: Pin<&mut RuntimeSleep>, cx: &mut Context<'_>) -> Poll<()> {
    sleep.poll(cx)
}
