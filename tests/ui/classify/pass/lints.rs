//! Nothing that the derive makes is a lint of the caller.
#![deny(warnings, missing_docs, unused, unused_qualifications, unreachable_pub)]
#![deny(rust_2018_idioms, unused_lifetimes, single_use_lifetimes, trivial_casts)]
#![forbid(unsafe_code)]

use std::convert::Infallible;
use std::io;
use std::time::Duration;

use retry_core::{Class, Classify};

fn judge(status: &u16) -> Class {
    if *status == 404 { Class::Permanent } else { Class::Transient }
}

/// Every shape.
#[derive(Debug, Classify)]
#[non_exhaustive]
pub enum PayError<T> {
    /// Unit.
    #[retry(transient, no_effect, kind = connect)]
    Unreachable,
    /// Named.
    #[retry(transient, after = retry_after, code = status)]
    Busy {
        /// The wait.
        retry_after: Option<Duration>,
        /// The status.
        status: u16,
    },
    /// Asked.
    #[retry(delegate)]
    Io(io::Error),
    /// Asked, of a parameter.
    #[retry(delegate)]
    Inner(Box<T>),
    /// Judged.
    #[retry(with = judge)]
    Status(u16),
    /// Cannot be.
    #[retry(permanent)]
    Never(Infallible),
    /// Goes away.
    #[deprecated]
    #[retry(unknown)]
    Old,
    /// Goes away in parts.
    #[retry(transient, code = code)]
    Part {
        /// The code.
        #[deprecated]
        code: u8,
    },
    /// Not in this build.
    #[cfg(any())]
    #[retry(nonsense)]
    Absent,
}

/// None.
#[derive(Debug, Classify)]
pub enum Never {}

/// A struct.
#[derive(Debug, Classify)]
#[retry(transient, code = status)]
pub struct Answer {
    status: u16,
}

fn main() {
    let _ = PayError::<Never>::Unreachable.classify();
    let _ = Answer { status: 500 }.classify();
}
