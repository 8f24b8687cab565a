//! Finds out, where a type is known, whether it has a text.

use std::fmt;
use std::marker::PhantomData;

use crate::classify::Verdict;
use crate::judge::{Describe, Judged};

/// Carries the error's type, for a method call that prefers [`Textual`].
pub struct Probe<E>(PhantomData<fn(E)>);

/// The probe of an error.
pub const fn probe<E>(_: &E) -> Probe<E> {
    Probe(PhantomData)
}

/// What an error means, by a function or closure of the author's.
pub fn judged<E, C>(
    error: &E,
    classify: impl FnOnce(&E) -> C,
    describe: Option<Describe<E>>,
) -> Judged<E>
where
    C: Verdict,
{
    Judged::new(classify(error).failure(), describe)
}

/// Whether a value is rejected, by a function or closure of the author's.
pub fn rejected<T>(value: &T, reject: impl FnOnce(&T) -> bool) -> bool {
    reject(value)
}

/// Errors with a text. A method of the value's own reference is found first.
pub trait Textual<E> {
    /// How to write it.
    fn describe(&self) -> Option<Describe<E>>;
}

impl<E: fmt::Display> Textual<E> for Probe<E> {
    fn describe(&self) -> Option<Describe<E>> {
        Some(|error| Some(error))
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
