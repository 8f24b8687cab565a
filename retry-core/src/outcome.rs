//! What an annotated function may return.

use crate::stopped::Stopped;

/// A return type of an annotated function: `Result<T, Stopped<E>>`.
#[diagnostic::on_unimplemented(
    message = "a `#[retryable]` function cannot return `{Self}`",
    label = "expected `Result<T, Stopped<E>>`",
    note = "the body works in `Result<T, E>`, and the operation answers `Result<T, Stopped<E>>`"
)]
pub trait Outcome: Sized {
    /// Its value.
    type Ok;
    /// The error that the body works in.
    type Error;

    /// Made from what the operation came to.
    fn finish(done: Result<Self::Ok, Stopped<Self::Error>>) -> Self;
}

impl<T, W: WrittenError> Outcome for Result<T, W> {
    type Ok = T;
    type Error = W::Error;

    fn finish(done: Result<T, Stopped<W::Error>>) -> Self {
        done.map_err(W::written)
    }
}

/// A written error: `Stopped<E>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the error of a `#[retryable]` function",
    label = "an operation can stop without an error of the body's",
    note = "return `Result<T, Stopped<{Self}>>`; or, where the signature cannot change, add `error = E` to the attribute, name the error that the body works in, and implement `From<Stopped<E>>` for `{Self}`"
)]
pub trait WrittenError: Sized {
    /// The error that the body works in.
    type Error;

    /// Made from the stop.
    fn written(stopped: Stopped<Self::Error>) -> Self;
}

impl<E> WrittenError for Stopped<E> {
    type Error = E;

    fn written(stopped: Self) -> Self {
        stopped
    }
}

/// A return type for `error = E`: any `Result` whose error can be made from
/// `Stopped<E>`.
#[diagnostic::on_unimplemented(
    message = "a `#[retryable]` function with `error = {E}` cannot return `{Self}`",
    label = "expected a `Result` whose error is `From<Stopped<{E}>>`"
)]
pub trait OutcomeAs<E>: Sized {
    /// Its value.
    type Ok;

    /// Made from what the operation came to.
    fn finish(done: Result<Self::Ok, Stopped<E>>) -> Self;
}

impl<T, E, W: From<Stopped<E>>> OutcomeAs<E> for Result<T, W> {
    type Ok = T;

    fn finish(done: Result<T, Stopped<E>>) -> Self {
        done.map_err(W::from)
    }
}

/// What the body gives. It names `R` once, so that an `impl Trait` in it is one
/// unknown type.
pub type Tried<R> = Result<<R as Outcome>::Ok, <R as Outcome>::Error>;

/// What the body gives, with `error = E`.
pub type TriedAs<R, E> = Result<<R as OutcomeAs<E>>::Ok, E>;

/// Answers the caller.
pub fn finish<R: Outcome>(done: Result<R::Ok, Stopped<R::Error>>) -> R {
    R::finish(done)
}

/// Answers the caller, with `error = E`.
pub fn finish_as<R: OutcomeAs<E>, E>(done: Result<R::Ok, Stopped<E>>) -> R {
    R::finish(done)
}
