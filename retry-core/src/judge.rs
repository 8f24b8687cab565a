//! How a loop learns what an attempt's outcome means.

use std::fmt;

use crate::classify::{Classify, Failure};

/// An error's text, where it has one.
pub type Describe<E> = for<'a> fn(&'a E) -> Option<&'a dyn fmt::Display>;

/// What an error means, and how to write it.
#[derive(Clone, Copy, Debug)]
pub struct Judged<E> {
    pub(crate) failure: Failure,
    pub(crate) describe: Option<Describe<E>>,
}

impl<E> Judged<E> {
    /// What was found out about an error.
    #[inline]
    pub const fn new(failure: Failure, describe: Option<Describe<E>>) -> Self {
        Self { failure, describe }
    }
}

/// How an operation learns what an error means.
pub trait Classifier<E> {
    /// The failure that the error stands for.
    fn failure(&mut self, error: &E) -> Failure {
        self.judge(error).failure
    }

    #[doc(hidden)]
    fn judge(&mut self, error: &E) -> Judged<E>;
}

/// How an operation learns that a value is not good enough.
pub trait Rejecter<T> {
    /// Whether the value is rejected.
    fn rejects(&mut self, value: &T) -> bool;
}

/// Asks the error's own [`Classify`].
#[derive(Clone, Copy, Debug)]
pub struct ByTrait;

impl<E: Classify> Classifier<E> for ByTrait {
    #[inline]
    fn judge(&mut self, error: &E) -> Judged<E> {
        by_trait(error)
    }
}

/// The same, as a function.
#[inline]
pub fn by_trait<E: Classify>(error: &E) -> Judged<E> {
    Judged::new(error.classify(), Some(E::text))
}

/// Rejects nothing.
#[derive(Clone, Copy, Debug)]
pub struct Accept;

impl<T> Rejecter<T> for Accept {
    #[inline]
    fn rejects(&mut self, value: &T) -> bool {
        accept(value)
    }
}

/// The same, as a function.
#[inline]
pub const fn accept<T>(_: &T) -> bool {
    false
}

/// Asks a function or closure.
#[derive(Clone, Copy)]
pub struct By<F>(pub(crate) F);

impl<F> fmt::Debug for By<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("By")
    }
}

impl<E, F: FnMut(&E) -> Judged<E>> Classifier<E> for By<F> {
    #[inline]
    fn judge(&mut self, error: &E) -> Judged<E> {
        self.0(error)
    }
}

impl<T, F: FnMut(&T) -> bool> Rejecter<T> for By<F> {
    #[inline]
    fn rejects(&mut self, value: &T) -> bool {
        self.0(value)
    }
}

impl<E, C: Classifier<E>> Classifier<E> for &mut C {
    #[inline]
    fn judge(&mut self, error: &E) -> Judged<E> {
        (**self).judge(error)
    }
}

impl<T, R: Rejecter<T>> Rejecter<T> for &mut R {
    #[inline]
    fn rejects(&mut self, value: &T) -> bool {
        (**self).rejects(value)
    }
}
