//! Calls that must not run twice.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use crate::scope;

/// A future that must not run twice: what a
/// `#[non_idempotent]` function returns.
///
/// It can be awaited anywhere except in a retried body. There
/// `#[retryable(idempotent)]` and `#[retryable(key = …)]` refuse to compile;
/// `#[retryable(at_most_once)]` accepts it.
///
/// It is not itself a `Future`, only [`IntoFuture`]: what takes a future, such
/// as `tokio::spawn` or `join_all`, takes it after
/// [`into_future`](IntoFuture::into_future).
///
/// Where the type is hidden by a helper, the attempt learns of the call when it
/// is first polled: if that attempt then fails, the operation stops with
/// [`not_idempotent`](crate::StopReason::NotIdempotent). A call that is made and
/// never polled counts for nothing.
///
/// ```
/// use retry_core::NonIdempotent;
///
/// # async fn post(path: &str) -> u16 { 200 }
/// // What the attribute writes for you:
/// fn print_label(parcel: &str) -> NonIdempotent<impl Future<Output = u16>> {
///     NonIdempotent::new(post(parcel))
/// }
///
/// # async fn outside_of_any_attempt() {
/// let status = print_label("parcel-1").await;
/// # }
/// ```
#[must_use = "a call that must not run twice does nothing unless it is awaited"]
pub struct NonIdempotent<F> {
    future: F,
}

impl<F: Future> NonIdempotent<F> {
    /// Marks a future as one that must not run twice.
    pub const fn new(future: F) -> Self {
        Self { future }
    }
}

impl<F: Future> NonIdempotent<F> {
    /// Found before [`Guard`]'s method of the same name, and never satisfied.
    /// It gives a future, so that a macro that takes only futures has nothing
    /// to add.
    #[doc(hidden)]
    pub fn __retry_guard(self) -> Marked<F>
    where
        Self: Repeatable,
    {
        self.into_future()
    }
}

impl<F: Future> IntoFuture for NonIdempotent<F> {
    type Output = F::Output;
    type IntoFuture = Marked<F>;

    fn into_future(self) -> Marked<F> {
        Marked { future: self.future, polled: false }
    }
}

impl<F> fmt::Debug for NonIdempotent<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NonIdempotent").finish_non_exhaustive()
    }
}

pin_project! {
    /// The future of a [`NonIdempotent`]: tells the attempt around it when it is
    /// first polled.
    #[must_use = "futures do nothing unless polled"]
    pub struct Marked<F> {
        #[pin]
        future: F,
        polled: bool,
    }
}

impl<F: Future> Future for Marked<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let first = !std::mem::replace(this.polled, true);
        scope::effectful(first, || this.future.poll(cx))
    }
}

impl<F> fmt::Debug for Marked<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Marked").field("polled", &self.polled).finish_non_exhaustive()
    }
}

/// What may run again on every attempt. Nothing implements it: it is there for
/// the sentence that the compiler prints about a [`NonIdempotent`] in a retried
/// body.
#[diagnostic::on_unimplemented(
    message = "non-idempotent call inside a `#[retryable]` function",
    label = "would run again on every attempt",
    note = "call a keyed variant and pass `key` on, move the call out of the retried body, or declare the operation `at_most_once`"
)]
pub trait Repeatable {}

/// Lets every other type through: inherent methods are found first. It is for
/// all types, so that awaiting what is not a future says so.
#[doc(hidden)]
pub trait Guard: Sized {
    #[doc(hidden)]
    fn __retry_guard(self) -> Self {
        self
    }
}

impl<T> Guard for T {}

/// Any future that a function returns.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a future, and only a future can be marked as non-idempotent",
    label = "not a future",
    note = "`#[non_idempotent]` goes on an `async fn`, or on a function that returns a future"
)]
pub trait ReturnedFuture: Sized {
    /// Marks it.
    fn mark(self) -> NonIdempotent<Self>;
}

impl<F: Future> ReturnedFuture for F {
    fn mark(self) -> NonIdempotent<Self> {
        NonIdempotent::new(self)
    }
}
