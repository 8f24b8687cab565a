//! What the other side asks of a retry.

use std::time::Duration;

/// A wait that the other side asked for, or its "do not retry".
///
/// HTTP says it with `Retry-After` (RFC 9110, section 10.2.3), gRPC with
/// `grpc-retry-pushback-ms` (gRFC A6) and `google.rpc.RetryInfo`.
///
/// A wait is a floor, never a replacement: the computed delay applies where it
/// is the longer one. A wait above the policy's hint limit stops the operation
/// with [`hint_too_long`](crate::StopReason::HintTooLong); one that reaches the
/// deadline stops it with
/// [`deadline_exceeded`](crate::StopReason::DeadlineExceeded). Both stop at
/// once, without sleeping first.
///
/// ```
/// use std::time::Duration;
/// use retry_core::{Failure, Hint};
///
/// let busy = Failure::transient().with_hint(Hint::Wait(Duration::from_secs(2)));
/// assert_eq!(busy.hint(), Some(Hint::Wait(Duration::from_secs(2))));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "durable", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "durable", serde(rename_all = "snake_case"))]
pub enum Hint {
    /// Wait at least this long, counted from the receipt of the answer.
    #[cfg_attr(feature = "durable", serde(rename = "wait_ns", with = "crate::nanos::span"))]
    Wait(Duration),
    /// Do not retry at all.
    DoNotRetry,
}

impl Hint {
    /// Reads the value of gRPC's `grpc-retry-pushback-ms` (gRFC A6): an ASCII
    /// signed 32-bit number without unnecessary leading zeros.
    ///
    /// A value of zero or more is a wait in milliseconds. A negative or
    /// unreadable one means "do not retry", as the gRFC demands.
    ///
    /// ```
    /// use std::time::Duration;
    /// use retry_core::Hint;
    ///
    /// assert_eq!(Hint::from_grpc_pushback(b"120"), Hint::Wait(Duration::from_millis(120)));
    /// assert_eq!(Hint::from_grpc_pushback(b"-1"), Hint::DoNotRetry);
    /// assert_eq!(Hint::from_grpc_pushback(b"soon"), Hint::DoNotRetry);
    /// ```
    pub fn from_grpc_pushback(value: &[u8]) -> Self {
        match whole_millis(value) {
            Some(millis) => Self::Wait(Duration::from_millis(u64::from(millis))),
            None => Self::DoNotRetry,
        }
    }
}

/// Digits only: `"+5".parse()` succeeds in Rust, and the grammar forbids it.
fn whole_millis(value: &[u8]) -> Option<u32> {
    let canonical = match value {
        [b'0'] => true,
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    if !canonical {
        return None;
    }
    let millis: i32 = std::str::from_utf8(value).ok()?.parse().ok()?;
    u32::try_from(millis).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h10_unreadable_pushback_means_do_not_retry() {
        for value in ["-1", "abc", "", "1.5", "01", "+5", "2147483648", " 1", "1 "] {
            assert_eq!(Hint::from_grpc_pushback(value.as_bytes()), Hint::DoNotRetry, "{value:?}");
        }
    }

    #[test]
    fn pushback_of_zero_or_more_is_a_wait() {
        for (value, millis) in [("0", 0), ("123", 123), ("2147483647", 2_147_483_647)] {
            let wait = Hint::Wait(Duration::from_millis(millis));
            assert_eq!(Hint::from_grpc_pushback(value.as_bytes()), wait, "{value:?}");
        }
    }
}
