//! `std::io::Error`, by its kind.

use std::io::{Error, ErrorKind};

use super::{Class, Classify, Failure, Kind};

/// By [`ErrorKind`]:
///
/// | kinds | failure |
/// |---|---|
/// | connection refused, host or network unreachable, network down, not connected, address in use or not available | transient, effect none, connect |
/// | connection reset or aborted, broken pipe, unexpected end of file | transient, effect possible, connect |
/// | timed out | transient, effect possible, timeout |
/// | interrupted, would block, resource busy, deadlock, stale network file handle | transient, effect possible, other |
/// | other, out of memory, storage full, quota exceeded, and kinds that this table does not name | unknown |
/// | the rest (not found, permission denied, invalid input, …) | permanent |
///
/// A refused connection never reached the other side; a reset one may have. A
/// time-out while connecting looks like one while reading, so its effect is
/// possible: say `no_effect` yourself where you know that only a connection was
/// being made.
///
/// The code is the operating system's error number, where there is one.
///
/// ```
/// use std::io::{Error, ErrorKind};
/// use retry_core::{Class, Classify, Effect};
///
/// let refused = Error::from(ErrorKind::ConnectionRefused).classify();
/// assert_eq!((refused.class(), refused.effect()), (Class::Transient, Effect::None));
/// let reset = Error::from(ErrorKind::ConnectionReset).classify();
/// assert_eq!((reset.class(), reset.effect()), (Class::Transient, Effect::Possible));
/// ```
impl Classify for Error {
    fn classify(&self) -> Failure {
        let failure = self.kind().classify();
        match self.raw_os_error() {
            Some(number) => failure.with_code(i64::from(number)),
            None => failure,
        }
    }

    fn text(&self) -> Option<&dyn std::fmt::Display> {
        Some(self)
    }
}

impl Classify for ErrorKind {
    fn classify(&self) -> Failure {
        use ErrorKind as K;
        match self {
            K::ConnectionRefused
            | K::HostUnreachable
            | K::NetworkUnreachable
            | K::NetworkDown
            | K::NotConnected
            | K::AddrInUse
            | K::AddrNotAvailable => Failure::transient().no_effect().with_kind(Kind::Connect),
            K::ConnectionReset | K::ConnectionAborted | K::BrokenPipe | K::UnexpectedEof => {
                Failure::transient().with_kind(Kind::Connect)
            }
            K::TimedOut => Failure::timeout(),
            K::Interrupted
            | K::WouldBlock
            | K::ResourceBusy
            | K::Deadlock
            | K::StaleNetworkFileHandle => Failure::transient(),
            K::NotFound
            | K::PermissionDenied
            | K::AlreadyExists
            | K::NotADirectory
            | K::IsADirectory
            | K::DirectoryNotEmpty
            | K::ReadOnlyFilesystem
            | K::InvalidInput
            | K::InvalidData
            | K::WriteZero
            | K::NotSeekable
            | K::FileTooLarge
            | K::ExecutableFileBusy
            | K::CrossesDevices
            | K::TooManyLinks
            | K::ArgumentListTooLong
            | K::Unsupported => Failure::permanent(),
            _ => Failure::new(Class::Unknown),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::Effect;

    #[test]
    fn a_refused_connection_changed_nothing_and_a_reset_may_have() {
        for (kind, class, effect) in [
            (ErrorKind::ConnectionRefused, Class::Transient, Effect::None),
            (ErrorKind::ConnectionReset, Class::Transient, Effect::Possible),
            (ErrorKind::TimedOut, Class::Transient, Effect::Possible),
            (ErrorKind::NotFound, Class::Permanent, Effect::Possible),
            (ErrorKind::Other, Class::Unknown, Effect::Possible),
            (ErrorKind::StorageFull, Class::Unknown, Effect::Possible),
        ] {
            let failure = Error::from(kind).classify();
            assert_eq!((failure.class(), failure.effect()), (class, effect), "{kind:?}");
        }
    }

    #[test]
    fn the_code_is_the_operating_systems() {
        assert_eq!(Error::from_raw_os_error(2).classify().code(), Some(2));
    }
}
