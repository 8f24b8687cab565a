//! Building a classification from parts.

use std::error::Error;

use super::Failure;

/// Starts a list of rules: the first one that matches decides.
///
/// For errors that are not yours, where a derive cannot be written and one
/// `match` would hide the rules.
///
/// ```
/// use retry_core::classify::when;
/// use retry_core::{Class, Failure, Kind};
///
/// let rules = when(|e: &String| e.contains("busy"), Failure::transient().with_kind(Kind::Throttled))
///     .or_when(|e| e.contains("denied"), Failure::permanent())
///     .otherwise(Failure::unknown());
/// assert_eq!(rules(&"busy".to_owned()).class(), Class::Transient);
/// assert_eq!(rules(&"what?".to_owned()).class(), Class::Unknown);
/// ```
pub fn when<E: ?Sized>(
    matches: impl Fn(&E) -> bool,
    failure: impl Into<Failure>,
) -> Rules<impl Fn(&E) -> Option<Failure>> {
    let failure = failure.into();
    Rules(move |error: &E| matches(error).then_some(failure))
}

/// A list of rules under construction. Made by [`when`].
#[derive(Clone, Copy)]
#[must_use = "end the list with `otherwise`"]
pub struct Rules<F>(F);

impl<F> Rules<F> {
    /// Adds a rule that is asked when none before it matched.
    pub fn or_when<E: ?Sized>(
        self,
        matches: impl Fn(&E) -> bool,
        failure: impl Into<Failure>,
    ) -> Rules<impl Fn(&E) -> Option<Failure>>
    where
        F: Fn(&E) -> Option<Failure>,
    {
        let failure = failure.into();
        Rules(move |error: &E| self.0(error).or_else(|| matches(error).then_some(failure)))
    }

    /// Adds a rule that looks at the error and may have no answer: for a
    /// classification that another crate ships, or one that reads a hint.
    pub fn or_ask<E: ?Sized>(
        self,
        ask: impl Fn(&E) -> Option<Failure>,
    ) -> Rules<impl Fn(&E) -> Option<Failure>>
    where
        F: Fn(&E) -> Option<Failure>,
    {
        Rules(move |error: &E| self.0(error).or_else(|| ask(error)))
    }

    /// Ends the list with the failure of everything that no rule matched.
    pub fn otherwise<E: ?Sized>(self, failure: impl Into<Failure>) -> impl Fn(&E) -> Failure
    where
        F: Fn(&E) -> Option<Failure>,
    {
        let failure = failure.into();
        move |error: &E| self.0(error).unwrap_or(failure)
    }
}

impl<F> std::fmt::Debug for Rules<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Rules(..)")
    }
}

/// The first error of type `T` in the chain of sources, the error itself
/// included: for errors that wrap the one which knows the answer.
///
/// ```
/// use retry_core::classify::find_source;
/// use retry_core::{Class, Classify, Failure};
///
/// # #[derive(Debug)] struct Wrapped(std::io::Error);
/// # impl std::fmt::Display for Wrapped {
/// #     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str("wrapped") }
/// # }
/// # impl std::error::Error for Wrapped {
/// #     fn source(&self) -> Option<&(dyn std::error::Error + 'static)> { Some(&self.0) }
/// # }
/// fn classify(error: &Wrapped) -> Failure {
///     match find_source::<std::io::Error>(error) {
///         Some(io) => io.classify(),
///         None => Failure::unknown(),
///     }
/// }
/// let error = Wrapped(std::io::ErrorKind::ConnectionRefused.into());
/// assert_eq!(classify(&error).class(), Class::Transient);
/// ```
pub fn find_source<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        next = error.source();
    }
    None
}
