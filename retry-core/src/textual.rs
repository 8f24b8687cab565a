//! Finds out, where a function is annotated, whether its error has a text.

use std::error::Error;
use std::fmt;
use std::marker::PhantomData;

use crate::classify::Failure;
use crate::run::{Describe, Judged};

/// Carries the error's type, for a method call that prefers [`Chained`] to
/// [`Textual`] and that to [`Silent`]: what needs fewer references is found
/// first.
pub struct Probe<E>(PhantomData<fn(E)>);

/// The probe of an error.
pub const fn probe<E>(_: &E) -> Probe<E> {
    Probe(PhantomData)
}

/// What an error means, by a function or closure of the author's.
pub fn judged<E, C: Into<Failure>>(
    error: &E,
    classify: impl FnOnce(&E) -> C,
    describe: Option<Describe<E>>,
) -> Judged<E> {
    Judged::new(classify(error).into(), describe)
}

/// Errors with sources: each text after the one it caused.
pub trait Chained<E> {
    /// How to write it.
    fn describe(&self) -> Option<Describe<E>>;
}

impl<E: Error> Chained<E> for Probe<E> {
    fn describe(&self) -> Option<Describe<E>> {
        Some(write_chain)
    }
}

/// `connection lost: reset by peer`. A source that its error has written
/// already is not written again.
fn write_chain<E: Error>(error: &E, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        let source_text = source.to_string();
        if !text.ends_with(&source_text) {
            text.push_str(": ");
            text.push_str(&source_text);
        }
        next = source.source();
    }
    f.write_str(&text)
}

/// Errors with a text.
pub trait Textual<E> {
    /// How to write it.
    fn describe(&self) -> Option<Describe<E>>;
}

impl<E: fmt::Display> Textual<E> for &Probe<E> {
    fn describe(&self) -> Option<Describe<E>> {
        Some(E::fmt)
    }
}

/// All others.
pub trait Silent<E> {
    /// Not at all.
    fn describe(&self) -> Option<Describe<E>>;
}

impl<E> Silent<E> for &&Probe<E> {
    fn describe(&self) -> Option<Describe<E>> {
        None
    }
}

impl<E> fmt::Debug for Probe<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Probe")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Written<E>(E, Option<Describe<E>>);

    impl<E> fmt::Display for Written<E> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.1.map_or(Ok(()), |describe| describe(&self.0, f))
        }
    }

    #[derive(Debug)]
    struct Lost(std::io::Error);

    impl fmt::Display for Lost {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("connection lost")
        }
    }

    impl Error for Lost {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.0)
        }
    }

    #[test]
    fn an_error_is_written_with_what_it_is_known_to_have() {
        let lost = Lost(std::io::Error::other("reset by peer"));
        let describe = (&&probe(&lost)).describe();
        assert_eq!(Written(lost, describe).to_string(), "connection lost: reset by peer");

        let text = "busy".to_owned();
        let describe = (&&probe(&text)).describe();
        assert_eq!(Written(text, describe).to_string(), "busy");

        let silent = ();
        assert!((&&probe(&silent)).describe().is_none());
    }
}
