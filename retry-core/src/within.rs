//! One budget of time for several operations.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use pin_project_lite::pin_project;

use crate::nanos::Nanos;
use crate::scope::{self, Frame};

/// Gives a workflow of several operations one deadline: each of them has what
/// is left of it, whatever its own policy says.
///
/// Nothing is cut: operations inside stop with `deadline_exceeded`, and code
/// between them goes on. Where a cut is wanted, put `tokio::time::timeout`
/// around. Runs on the clock of the scope, or tokio's. The time starts with the
/// first poll. A task that the future spawns does not see the deadline.
///
/// ```
/// use std::time::Duration;
/// use retry_core::clock::{Clock, VirtualClock};
/// use retry_core::{Failure, Operation, Policy, StopReason, within};
///
/// # futures::executor::block_on(async {
/// let policy = Policy::new(100, Duration::from_secs(3600));
/// let poll = Operation::idempotent("poll", policy).classify(|_: &()| Failure::transient());
/// let workflow = within(Duration::from_secs(10), poll.run(|_| async { Err::<(), ()>(()) }));
/// let stopped = VirtualClock::new().scope(workflow).await.unwrap_err();
/// assert_eq!(stopped.reason(), StopReason::DeadlineExceeded);
/// assert!(stopped.elapsed() < Duration::from_secs(10));
/// # });
/// ```
pub fn within<F: Future>(deadline: Duration, future: F) -> Within<F> {
    Within { span: Nanos::from_duration(deadline), since: None, future }
}

pin_project! {
    /// A workflow with a deadline. Made by [`within`].
    #[must_use = "futures do nothing unless polled"]
    pub struct Within<F> {
        span: Nanos,
        since: Option<Instant>,
        #[pin]
        future: F,
    }
}

impl<F: Future> Future for Within<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let clock = scope::clock();
        let since = *this.since.get_or_insert_with(|| clock.now());
        let frame = Frame::under(&clock, since, *this.span);
        scope::poll_under(&clock, &frame, this.future, cx).0
    }
}

impl<F> fmt::Debug for Within<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Within").field("deadline", &self.span).finish_non_exhaustive()
    }
}
