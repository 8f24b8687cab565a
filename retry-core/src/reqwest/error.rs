//! Why a request of an attempt gave no usable answer.

use std::fmt;

use ::reqwest::{Error, Method, Response, StatusCode};

use crate::classify::{Classify, Failure};
use crate::http::{IDEMPOTENCY_KEY, NoTimeLeft};
use crate::key::IdempotencyKey;

/// Why [`Attempt::send`](crate::Attempt::send) gave no response.
///
/// | error | failure |
/// |---|---|
/// | [`Reqwest`](Self::Reqwest) | as [`Classify`](Classify#foreign-impls) for `reqwest::Error` says |
/// | [`Status`](Self::Status) | by the profile, with the hint of the headers |
/// | [`NotRepeatable`](Self::NotRepeatable) | unknown: an earlier attempt may have taken effect |
/// | [`OtherKey`](Self::OtherKey) | permanent, effect none |
/// | [`NoTimeLeft`](Self::NoTimeLeft) | as [`NoTimeLeft`](crate::http::NoTimeLeft) says, effect none |
///
/// The last three are refusals: nothing was sent.
#[derive(Debug)]
#[non_exhaustive]
pub enum SendError {
    /// reqwest could not build or send the request, or read the answer.
    Reqwest(Error),
    /// The answer is an error by its status: 400 or above.
    #[non_exhaustive]
    Status {
        /// What it means by the request's profile, with its hint.
        failure: Failure,
        /// The answer. Its body is not read yet.
        response: Box<Response>,
    },
    /// A method that is not idempotent would be sent by a second attempt of an
    /// `idempotent` operation.
    NotRepeatable(Method),
    /// The request has an `Idempotency-Key` already, and it is not this one.
    OtherKey(IdempotencyKey),
    /// Nothing is left of the attempt's time, or of the operation's.
    NoTimeLeft(NoTimeLeft),
}

impl SendError {
    /// The status of the answer, where there is one.
    pub fn status(&self) -> Option<StatusCode> {
        match self {
            Self::Reqwest(error) => error.status(),
            Self::Status { response, .. } => Some(response.status()),
            Self::NotRepeatable(_) | Self::OtherKey(_) | Self::NoTimeLeft(_) => None,
        }
    }
}

impl Classify for SendError {
    fn classify(&self) -> Failure {
        match self {
            Self::Reqwest(error) => error.classify(),
            Self::Status { failure, .. } => *failure,
            Self::NotRepeatable(_) => Failure::unknown(),
            Self::OtherKey(_) => Failure::permanent().no_effect(),
            Self::NoTimeLeft(error) => error.classify(),
        }
    }
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // reqwest says what it was doing; why it failed is the last source.
            Self::Reqwest(error) => match root_cause(error) {
                Some(cause) => write!(f, "{error}: {cause}"),
                None => error.fmt(f),
            },
            // Not its address: a query may hold what no log should.
            Self::Status { response, .. } => write!(f, "the answer was {}", response.status()),
            Self::NotRepeatable(method) => write!(
                f,
                "{method} was not sent again in an `idempotent` operation; say `.repeatable()` \
                 where repeating this request is harmless, else give the operation a key or make \
                 it `at_most_once`"
            ),
            Self::OtherKey(key) => write!(
                f,
                "the request was not sent: it has an `{IDEMPOTENCY_KEY}` other than {key}; leave \
                 the header out, or name its key with `.key(…)`"
            ),
            Self::NoTimeLeft(error) => error.fmt(f),
        }
    }
}

fn root_cause(error: &Error) -> Option<&(dyn std::error::Error + 'static)> {
    std::iter::successors(std::error::Error::source(error), |source| source.source()).last()
}

impl std::error::Error for SendError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            // Its text is this error's own.
            Self::Reqwest(error) => error.source(),
            _ => None,
        }
    }
}

/// For `?` on what reads the response. The address is left out: it may hold what
/// no log should.
impl From<Error> for SendError {
    fn from(error: Error) -> Self {
        Self::Reqwest(error.without_url())
    }
}
