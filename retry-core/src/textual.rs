//! Finds out, where a function is annotated, whether its error has a text.

use std::fmt;
use std::marker::PhantomData;

use crate::run::Describe;

/// Carries the error's type, for a method call that prefers [`Textual`].
pub struct Probe<E>(PhantomData<fn(E)>);

/// The probe of what an attempt gave.
pub fn probe<T, E>(_: &Option<Result<T, E>>) -> Probe<E> {
    Probe(PhantomData)
}

/// Errors with a text. A method of the value's own reference is found first.
pub trait Textual<E> {
    /// How to write it.
    fn describe(&self) -> Option<Describe<E>>;
}

impl<E: fmt::Display> Textual<E> for Probe<E> {
    fn describe(&self) -> Option<Describe<E>> {
        Some(E::fmt)
    }
}

/// All others: found one reference later.
pub trait Silent<E> {
    /// Not at all.
    fn describe(&self) -> Option<Describe<E>>;
}

impl<E> Silent<E> for &Probe<E> {
    fn describe(&self) -> Option<Describe<E>> {
        None
    }
}

impl<E> fmt::Debug for Probe<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Probe")
    }
}
