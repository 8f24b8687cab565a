//! One future under a breaker.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use super::{Breaker, Outcome, Permit, Refused};
use crate::classify::{Classify, Failure};
use crate::scope;

/// A call under a breaker gave no value. Made by [`Breaker::call`].
#[derive(Clone, Debug)]
pub enum CallError<E> {
    /// It was not let through: nothing was sent.
    Refused(Refused),
    /// It was, and failed.
    Failed(E),
}

pin_project! {
    /// A future under a breaker. Made by [`Breaker::call`].
    #[must_use = "futures do nothing unless polled"]
    pub struct Call<'a, F> {
        breaker: &'a Breaker,
        // `None`: not polled yet.
        permit: Option<Permit>,
        #[pin]
        future: F,
    }
}

impl<'a, F> Call<'a, F> {
    pub(super) const fn new(breaker: &'a Breaker, future: F) -> Self {
        Self { breaker, permit: None, future }
    }
}

impl<F, T, E> Future for Call<'_, F>
where
    F: Future<Output = Result<T, E>>,
    E: Classify,
{
    type Output = Result<T, CallError<E>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        // Held here while the future is polled: a panic drops it at once.
        let permit = match this.permit.take() {
            Some(permit) => permit,
            None => this.breaker.admit(scope::clock().now()).map_err(CallError::Refused)?,
        };
        let Poll::Ready(result) = this.future.poll(cx) else {
            *this.permit = Some(permit);
            return Poll::Pending;
        };
        let outcome = match &result {
            Ok(_) => Outcome::Success,
            Err(error) => this.breaker.outcome_of(&error.classify()),
        };
        permit.settle(scope::clock().now(), outcome);
        Poll::Ready(result.map_err(CallError::Failed))
    }
}

impl<F> fmt::Debug for Call<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("breaker", &self.breaker.name()).finish_non_exhaustive()
    }
}

/// The refusal's, or that of the error.
impl<E: Classify> Classify for CallError<E> {
    fn classify(&self) -> Failure {
        match self {
            Self::Refused(refused) => refused.classify(),
            Self::Failed(error) => error.classify(),
        }
    }

    fn text(&self) -> Option<&dyn fmt::Display> {
        match self {
            Self::Refused(refused) => refused.text(),
            Self::Failed(error) => error.text(),
        }
    }
}

impl<E: fmt::Display> fmt::Display for CallError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refused) => refused.fmt(f),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

/// Transparent: text and source are those of the refusal or the error.
impl<E: Error> Error for CallError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Refused(refused) => refused.source(),
            Self::Failed(error) => error.source(),
        }
    }
}
