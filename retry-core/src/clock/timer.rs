//! One timer an operation: for the cut of an attempt and for the wait after it.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use super::{ClockHandle, Sleep};

pub(crate) struct Timer {
    at: Instant,
    sleep: Source,
}

enum Source {
    #[cfg(feature = "tokio")]
    Tokio(Pin<Box<tokio::time::Sleep>>),
    Shared(Sleep),
}

impl Timer {
    pub(crate) fn new(clock: &ClockHandle, at: Instant) -> Self {
        Self { at, sleep: Source::new(clock, at) }
    }

    /// Sets the timer again; nothing happens where it is set for `at` already.
    pub(crate) fn set(&mut self, clock: &ClockHandle, at: Instant) {
        if self.at == at {
            return;
        }
        self.at = at;
        self.set_anew(clock);
    }

    fn set_anew(&mut self, clock: &ClockHandle) {
        match &mut self.sleep {
            #[cfg(feature = "tokio")]
            Source::Tokio(sleep) => sleep.as_mut().reset(self.at.into()),
            Source::Shared(sleep) => {
                if let Some(clock) = clock.get() {
                    *sleep = clock.sleep_until(self.at);
                }
            }
        }
    }

    /// Ready when the source says so.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.sleep {
            // A body that has used up tokio's budget for this turn must not
            // hold back the timer that cuts it.
            #[cfg(feature = "tokio")]
            Source::Tokio(sleep) => {
                let mut sleep = tokio::task::unconstrained(sleep.as_mut());
                Future::poll(Pin::new(&mut sleep), cx)
            }
            Source::Shared(sleep) => sleep.as_mut().poll(cx),
        }
    }

    /// Ready when the source says so and the clock agrees. A source that is
    /// early is set again, and one that is early twice is asked again on the
    /// executor's next turn, so that it cannot hold the thread.
    pub(crate) fn poll_on_time(&mut self, clock: &ClockHandle, cx: &mut Context<'_>) -> Poll<()> {
        for _ in 0..2 {
            if self.poll(cx).is_pending() {
                return Poll::Pending;
            }
            if clock.now() >= self.at {
                return Poll::Ready(());
            }
            self.set_anew(clock);
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Source {
    fn new(clock: &ClockHandle, at: Instant) -> Self {
        match clock.get() {
            Some(clock) => Self::Shared(clock.sleep_until(at)),
            #[cfg(feature = "tokio")]
            None => Self::Tokio(Box::pin(tokio::time::sleep_until(at.into()))),
            // Refused before the first attempt.
            #[cfg(not(feature = "tokio"))]
            None => Self::Shared(Box::pin(std::future::pending())),
        }
    }
}
