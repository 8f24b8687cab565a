//! What an error means for the retry.

pub(crate) mod fields;
mod io;
mod rules;

use std::fmt;
use std::time::Duration;

use crate::hint::Hint;
use crate::nanos::Nanos;
use crate::stop::StopReason;

pub use rules::{Rules, find_source, when};

/// Says what an error means for the retry.
///
/// Derive it with `#[derive(Classify)]`, implement it by hand, or leave it out
/// and name a function in the attribute: `classify = path::to::function`.
///
/// ```
/// use retry_core::{Classify, Failure, Kind};
///
/// enum SearchError {
///     Busy,
///     BadQuery,
/// }
///
/// impl Classify for SearchError {
///     fn classify(&self) -> Failure {
///         match self {
///             Self::Busy => Failure::transient().no_effect().with_kind(Kind::Throttled),
///             Self::BadQuery => Failure::permanent(),
///         }
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say which of its errors may be retried",
    label = "no classification for this error type",
    note = "derive it with `#[derive(Classify)]`, or name a function: in an attribute `#[retryable(classify = path::to::function)]`, on a variant `#[retry(with = path::to::function)]`, on an `Operation` `.classify(…)`"
)]
pub trait Classify {
    /// The failure that this error stands for.
    fn classify(&self) -> Failure;

    /// The error's text, for observers. The derive answers with `Display` where
    /// the type has it.
    fn text(&self) -> Option<&dyn fmt::Display> {
        None
    }
}

impl<E: Classify + ?Sized> Classify for &E {
    fn classify(&self) -> Failure {
        (**self).classify()
    }

    fn text(&self) -> Option<&dyn fmt::Display> {
        (**self).text()
    }
}

impl<E: Classify + ?Sized> Classify for Box<E> {
    fn classify(&self) -> Failure {
        (**self).classify()
    }

    fn text(&self) -> Option<&dyn fmt::Display> {
        (**self).text()
    }
}

impl<E: Classify + ?Sized> Classify for std::sync::Arc<E> {
    fn classify(&self) -> Failure {
        (**self).classify()
    }

    fn text(&self) -> Option<&dyn fmt::Display> {
        (**self).text()
    }
}

/// Whether another attempt can help.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "durable", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "durable", serde(rename_all = "snake_case"))]
pub enum Class {
    /// Another attempt may succeed.
    Transient,
    /// No attempt will succeed until something else changes.
    Permanent,
    /// Nobody can tell from the error; a person decides.
    Unknown,
}

impl Class {
    /// The class as a lower-case word, for logs and labels.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Transient => "transient",
            Self::Permanent => "permanent",
            Self::Unknown => "unknown",
        }
    }
}

/// Whether the failed attempt can have changed anything on the other side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "durable", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "durable", serde(rename_all = "snake_case"))]
pub enum Effect {
    /// It certainly changed nothing.
    None,
    /// It may have changed something. The default.
    Possible,
}

impl Effect {
    /// The effect as a lower-case word, for logs and labels.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Possible => "possible",
        }
    }
}

/// What went wrong, in five words: for costs, events and metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "durable", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "durable", serde(rename_all = "snake_case"))]
pub enum Kind {
    /// No answer in time.
    Timeout,
    /// The other side asked for fewer calls.
    Throttled,
    /// The connection could not be made, or broke.
    Connect,
    /// The other side answered that it failed.
    Server,
    /// Anything else. The default.
    Other,
}

impl Kind {
    /// The kind as a lower-case word, for logs and labels.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Throttled => "throttled",
            Self::Connect => "connect",
            Self::Server => "server",
            Self::Other => "other",
        }
    }
}

macro_rules! display_as_str {
    ($($name:ident),*) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }
    )*};
}
display_as_str!(Class, Effect, Kind);

/// What an error means for the retry: class, effect, kind, hint, code, and the
/// inner reason where the error is the stop of a nested operation.
///
/// ```
/// use std::time::Duration;
/// use retry_core::{Class, Effect, Failure, Kind};
///
/// let throttled = Failure::transient()
///     .no_effect()
///     .with_kind(Kind::Throttled)
///     .with_code(429)
///     .after(Duration::from_secs(1));
/// assert_eq!(throttled.class(), Class::Transient);
/// assert_eq!(throttled.effect(), Effect::None);
/// assert_eq!(throttled.to_string(), "transient, effect none, throttled 429, hint 1s");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use]
#[cfg_attr(feature = "durable", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "durable", serde(deny_unknown_fields))]
pub struct Failure {
    class: Class,
    effect: Effect,
    kind: Kind,
    #[cfg_attr(feature = "durable", serde(default, skip_serializing_if = "Option::is_none"))]
    inner: Option<StopReason>,
    #[cfg_attr(feature = "durable", serde(default, skip_serializing_if = "std::ops::Not::not"))]
    rejected: bool,
    #[cfg_attr(feature = "durable", serde(default, skip_serializing_if = "std::ops::Not::not"))]
    afresh: bool,
    #[cfg_attr(feature = "durable", serde(default, skip_serializing_if = "Option::is_none"))]
    hint: Option<Hint>,
    #[cfg_attr(feature = "durable", serde(default, skip_serializing_if = "Option::is_none"))]
    code: Option<i64>,
}

impl Failure {
    /// A failure of this class, effect possible, kind other.
    pub const fn new(class: Class) -> Self {
        Self {
            class,
            effect: Effect::Possible,
            kind: Kind::Other,
            inner: None,
            rejected: false,
            afresh: false,
            hint: None,
            code: None,
        }
    }

    /// Another attempt may succeed.
    pub const fn transient() -> Self {
        Self::new(Class::Transient)
    }

    /// No attempt will succeed.
    pub const fn permanent() -> Self {
        Self::new(Class::Permanent)
    }

    /// A person decides.
    pub const fn unknown() -> Self {
        Self::new(Class::Unknown)
    }

    /// An attempt that was cut: transient, effect possible, kind timeout.
    pub const fn timeout() -> Self {
        Self::transient().with_kind(Kind::Timeout)
    }

    /// An `Ok` that `reject` refused: transient, effect possible, kind other.
    pub(crate) const fn rejected() -> Self {
        Self { rejected: true, ..Self::transient() }
    }

    /// The stop of a nested operation.
    pub(crate) const fn nested(self, reason: StopReason) -> Self {
        Self { inner: Some(reason), ..self }
    }

    /// Starts afresh: where an operation inside the attempt has stopped, the
    /// attempt is retried all the same. `#[retry(transient)]` says so of a
    /// variant that holds a [`Stopped`](crate::Stopped).
    pub const fn afresh(self) -> Self {
        Self { afresh: true, inner: None, ..self }
    }

    /// The failed attempt certainly changed nothing.
    pub const fn no_effect(self) -> Self {
        self.with_effect(Effect::None)
    }

    /// Sets the effect.
    pub const fn with_effect(self, effect: Effect) -> Self {
        Self { effect, ..self }
    }

    /// Sets the class and forgets an inner stop's reason: an author who says
    /// `transient` about a nested stop means it.
    pub const fn with_class(self, class: Class) -> Self {
        let afresh = self.afresh || self.inner.is_some();
        Self { class, inner: None, afresh, ..self }
    }

    /// Sets the kind.
    pub const fn with_kind(self, kind: Kind) -> Self {
        Self { kind, ..self }
    }

    /// Sets the other side's number: an HTTP status, a gRPC code, an errno.
    pub const fn with_code(self, code: i64) -> Self {
        Self { code: Some(code), ..self }
    }

    /// Sets what the other side asked for.
    pub const fn with_hint(self, hint: Hint) -> Self {
        Self { hint: Some(hint), ..self }
    }

    /// Sets a wait that the other side asked for; `None` leaves it as it is.
    pub fn after(self, wait: impl Into<Option<Duration>>) -> Self {
        match wait.into() {
            Some(wait) => self.with_hint(Hint::Wait(wait)),
            None => self,
        }
    }

    /// Whether another attempt can help.
    pub const fn class(&self) -> Class {
        self.class
    }

    /// Whether the attempt can have changed anything.
    pub const fn effect(&self) -> Effect {
        self.effect
    }

    /// What went wrong, in a word.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// The other side's number, if it gave one.
    pub const fn code(&self) -> Option<i64> {
        self.code
    }

    /// What the other side asked for, if it did.
    pub const fn hint(&self) -> Option<Hint> {
        self.hint
    }

    /// Why a nested operation stopped, where the error is its stop.
    pub const fn inner(&self) -> Option<StopReason> {
        self.inner
    }

    /// Whether it is retried where a nested operation has stopped.
    pub const fn is_afresh(&self) -> bool {
        self.afresh
    }

    /// Whether this is an `Ok` that `reject` refused.
    pub const fn is_rejected(&self) -> bool {
        self.rejected
    }
}

/// What a `classify = …` function may answer: anything that is `Into<Failure>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say whether an error may be retried",
    label = "expected a function that answers a `Class` or a `Failure`, and this one answers `{Self}`",
    note = "`classify` names a function or a closure from `&E` to `Class`, `Failure`, or anything that is `Into<Failure>`"
)]
pub trait Verdict {
    /// The failure that it stands for.
    fn failure(self) -> Failure;
}

#[diagnostic::do_not_recommend]
impl<F: Into<Failure>> Verdict for F {
    #[inline]
    fn failure(self) -> Failure {
        self.into()
    }
}

impl From<Class> for Failure {
    fn from(class: Class) -> Self {
        Self::new(class)
    }
}

/// One line: `transient, effect none, throttled 429, hint 1s`.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, effect {}, ", self.class, self.effect)?;
        f.write_str(if self.rejected { "rejected" } else { self.kind.as_str() })?;
        if let Some(code) = self.code {
            write!(f, " {code}")?;
        }
        match self.hint {
            Some(Hint::Wait(wait)) => write!(f, ", hint {:?}", Nanos::from_duration(wait))?,
            Some(Hint::DoNotRetry) => f.write_str(", told not to retry")?,
            None => {}
        }
        match self.inner {
            Some(reason) => write!(f, ", inner operation stopped with {reason}"),
            None => Ok(()),
        }
    }
}
