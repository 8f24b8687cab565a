//! What an annotated function may return.

use std::fmt;
use std::future::{Pending, pending};
use std::marker::PhantomData;

use crate::stopped::Stopped;

/// A return type of an annotated function: `Result<T, Stopped<E>>`.
///
/// Where it is not implemented, the compiler shall say that and nothing about
/// the body: so what the body gives is one type of its own, unknown as a whole.
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
    /// What the body gives: `Result<Ok, Error>`.
    type Tried;

    /// Made from what the operation came to.
    fn finish(done: Result<Self::Ok, Stopped<Self::Error>>) -> Self;
}

impl<T, W: WrittenError> Outcome for Result<T, W> {
    type Ok = T;
    type Error = W::Error;
    type Tried = Result<T, W::Error>;

    #[inline]
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
    /// What the body gives: `Result<Ok, E>`.
    type Tried;

    /// Made from what the operation came to.
    fn finish(done: Result<Self::Ok, Stopped<E>>) -> Self;
}

impl<T, E, W: WrittenErrorAs<E>> OutcomeAs<E> for Result<T, W> {
    type Ok = T;
    type Tried = Result<T, E>;

    #[inline]
    fn finish(done: Result<T, Stopped<E>>) -> Self {
        done.map_err(W::written_as)
    }
}

/// A written error for `error = E`: anything that is `From<Stopped<E>>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the error of a `#[retryable]` function with `error = {E}`",
    label = "`From<Stopped<{E}>>` is not implemented for `{Self}`",
    note = "implement `From<Stopped<{E}>>` for `{Self}`; or, where the signature can change, return `Result<T, Stopped<{E}>>`"
)]
pub trait WrittenErrorAs<E>: Sized {
    /// Made from the stop.
    fn written_as(stopped: Stopped<E>) -> Self;
}

#[diagnostic::do_not_recommend]
impl<E, W: From<Stopped<E>>> WrittenErrorAs<E> for W {
    fn written_as(stopped: Stopped<E>) -> Self {
        stopped.into()
    }
}

/// The written return type `R`, for a method call that prefers [`Known`].
pub struct Return<R>(PhantomData<fn() -> R>);

/// `R` with `error = E`.
pub struct ReturnAs<R, E>(PhantomData<fn() -> (R, E)>);

impl<R> Return<R> {
    /// The written return type.
    pub const WRITTEN: Self = Self(PhantomData);
}

impl<R, E> ReturnAs<R, E> {
    /// The written return type.
    pub const WRITTEN: Self = Self(PhantomData);
}

/// A return type that an operation can have. A method of the value itself is
/// found first.
pub trait Known {
    /// What the body gives.
    type Tried;

    /// The body's future as it is.
    #[inline]
    fn body<F>(&self, body: F) -> F
    where
        F: Future<Output = Self::Tried>,
    {
        body
    }
}

impl<R: Outcome> Known for Return<R> {
    type Tried = R::Tried;
}

impl<R: OutcomeAs<E>, E> Known for ReturnAs<R, E> {
    type Tried = R::Tried;
}

/// All others, found one reference later. That they are wrong is reported; here
/// a future of any type stands for the body's, so that nothing else is.
pub trait Unknown<E> {
    /// A future that never is: no program runs that asks for it.
    fn body<F, T>(&self, _: F) -> Pending<Result<T, E>> {
        pending()
    }
}

impl<R, E> Unknown<E> for &Return<R> {}
impl<R, E> Unknown<E> for &ReturnAs<R, E> {}

impl<R> fmt::Debug for Return<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Return")
    }
}

impl<R, E> fmt::Debug for ReturnAs<R, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReturnAs")
    }
}

/// Answers the caller.
///
/// Only the bound mentions what follows from `R`: so there is one place where
/// the compiler says that it does not hold.
#[inline]
pub fn finish<R, E, V, T>(done: Result<V, Stopped<E>>) -> R
where
    R: Outcome<Ok = V, Error = E, Tried = T>,
{
    R::finish(done)
}

/// Answers the caller, with `error = E`.
#[inline]
pub fn finish_as<R, E, V, T>(done: Result<V, Stopped<E>>) -> R
where
    R: OutcomeAs<E, Ok = V, Tried = T>,
{
    R::finish(done)
}
