//! What the derive reads of a field: `code = field`, `after = field`, and whether
//! it holds a stop.

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use super::Failure;
use crate::hint::Hint;

/// A field that holds the other side's number.
///
/// Any integer up to 64 bits, and an `Option` of one: `None` leaves the code as
/// it is. An unsigned number above `i64::MAX` is nobody's status code and is
/// left out rather than recorded as another number.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the code of a failure",
    label = "expected an integer, or an `Option` of one",
    note = "for any other type, build the failure in a function of yours: `with = path::to::function`"
)]
pub trait FailureCode {
    /// The failure with this code.
    fn set(&self, failure: Failure) -> Failure;
}

impl<C: FailureCode> FailureCode for Option<C> {
    fn set(&self, failure: Failure) -> Failure {
        match self {
            Some(code) => code.set(failure),
            None => failure,
        }
    }
}

macro_rules! integer_codes {
    ($($integer:ty),*) => {$(
        impl FailureCode for $integer {
            fn set(&self, failure: Failure) -> Failure {
                match i64::try_from(*self) {
                    Ok(code) => failure.with_code(code),
                    Err(_) => failure,
                }
            }
        }
    )*};
}
integer_codes!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize);

#[cfg(feature = "http")]
impl FailureCode for http::StatusCode {
    fn set(&self, failure: Failure) -> Failure {
        self.as_u16().set(failure)
    }
}

/// The type of a field of a `transient` variant, for a method call that prefers
/// [`HoldsStop`].
pub struct Field<T: ?Sized>(PhantomData<fn(&T)>);

impl<T: ?Sized> Field<T> {
    /// Nothing but the type.
    pub const OF: Self = Self(PhantomData);
}

impl<T: ?Sized> fmt::Debug for Field<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Field")
    }
}

/// Fields that hold the stop of a nested operation, which `transient` overrules.
/// A method of the value's own reference is found first.
pub trait HoldsStop {
    /// The failure, retried although the nested operation has stopped.
    fn classed(&self, failure: Failure) -> Failure {
        failure.afresh()
    }
}

/// All others: found one reference later.
pub trait HoldsOther {
    /// The failure as it is.
    fn classed(&self, failure: Failure) -> Failure {
        failure
    }
}

impl<T: ?Sized> HoldsOther for &Field<T> {}

/// A field that holds the wait which the other side asked for.
///
/// A `Duration`, a [`Hint`], or an `Option` of either: `None` leaves the hint
/// as it is.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a wait that the other side asked for",
    label = "expected a `Duration`, a `Hint`, or an `Option` of either",
    note = "for any other type, build the failure in a function of yours: `with = path::to::function`"
)]
pub trait AskedWait {
    /// The failure with this wait.
    fn set(&self, failure: Failure) -> Failure;
}

impl AskedWait for Duration {
    fn set(&self, failure: Failure) -> Failure {
        failure.after(*self)
    }
}

impl AskedWait for Hint {
    fn set(&self, failure: Failure) -> Failure {
        failure.with_hint(*self)
    }
}

impl<W: AskedWait> AskedWait for Option<W> {
    fn set(&self, failure: Failure) -> Failure {
        match self {
            Some(wait) => wait.set(failure),
            None => failure,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_the_number_or_nothing() {
        let code = |field: &dyn FailureCode| field.set(Failure::transient()).code();
        assert_eq!(code(&503_u16), Some(503));
        assert_eq!(code(&-1_i8), Some(-1));
        assert_eq!(code(&i64::MIN), Some(i64::MIN));
        assert_eq!(code(&(i64::MAX as u64)), Some(i64::MAX));
        assert_eq!(code(&u64::MAX), None);
        assert_eq!(code(&Some(7_i32)), Some(7));
        assert_eq!(code(&None::<i32>), None);
    }

    #[test]
    fn a_missing_value_keeps_what_is_there() {
        let busy = Failure::transient().with_code(1).after(Duration::from_secs(1));
        assert_eq!(None::<u16>.set(busy), busy);
        assert_eq!(None::<Duration>.set(busy), busy);
        assert_eq!(AskedWait::set(&Hint::DoNotRetry, busy).hint(), Some(Hint::DoNotRetry));
        assert_eq!(
            AskedWait::set(&Some(Duration::ZERO), busy).hint(),
            Some(Hint::Wait(Duration::ZERO))
        );
    }
}
