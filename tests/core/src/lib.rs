//! What the tests of the rules and of the loop share.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use retry_core::clock::{Clock, Sleep, VirtualClock};
use retry_core::{Classify, Failure};

/// An error that is nothing but what it means for the retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failed(pub Failure);

/// A transient failure without a hint, effect possible.
pub const BUSY: Failed = Failed(Failure::transient());

impl Classify for Failed {
    fn classify(&self) -> Failure {
        self.0
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Failed {}

/// Runs a future to its end with the clock under it.
pub fn block_on<F: Future>(clock: &VirtualClock, future: F) -> F::Output {
    futures::executor::block_on(clock.clone().scope(future))
}

/// Waits on a clock that is known, as the body of an operation does.
pub fn sleep(clock: &VirtualClock, span: Duration) -> Sleep {
    clock.sleep_until(clock.now() + span)
}

/// Gives its turn to the executor once.
pub fn turn() -> impl Future<Output = ()> + Send + 'static {
    Turn(false)
}

struct Turn(bool);

impl Future for Turn {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}
