//! A text that can be put together in a constant.

use std::time::Duration;

use crate::nanos::Nanos;

/// Room for the longest message with the largest numbers.
const ROOM: usize = 320;

#[derive(Clone, Copy)]
pub(crate) struct Message {
    bytes: [u8; ROOM],
    len: usize,
}

impl Message {
    pub(crate) const fn new() -> Self {
        Self { bytes: [0; ROOM], len: 0 }
    }

    pub(crate) const fn text(mut self, text: &str) -> Self {
        let text = text.as_bytes();
        let mut at = 0;
        while at < text.len() && self.len < ROOM {
            self.bytes[self.len] = text[at];
            self.len += 1;
            at += 1;
        }
        self
    }

    pub(crate) const fn number(mut self, number: u64) -> Self {
        let mut power = 1;
        while number / power >= 10 {
            power *= 10;
        }
        while power > 0 && self.len < ROOM {
            self.bytes[self.len] = b'0' + (number / power % 10) as u8;
            self.len += 1;
            power /= 10;
        }
        self
    }

    pub(crate) const fn ratio(self, numerator: u32, denominator: u32) -> Self {
        self.number(numerator as u64).text("/").number(denominator as u64)
    }

    pub(crate) const fn attempts(self, first: u64, last: u64) -> Self {
        if first == last {
            return self.text("attempt ").number(last);
        }
        self.text("attempts ").number(first).text(" to ").number(last)
    }

    /// As an attribute takes it, in seconds and smaller: `1s 500ms`; clamped, as
    /// in a policy.
    pub(crate) const fn duration(self, duration: Duration) -> Self {
        let duration = Nanos::from_duration(duration).duration();
        let nanos = duration.subsec_nanos() as u64;
        let parts = [
            (duration.as_secs(), "s"),
            (nanos / 1_000_000, "ms"),
            (nanos / 1_000 % 1_000, "us"),
            (nanos % 1_000, "ns"),
        ];
        if duration.is_zero() {
            return self.text("0s");
        }
        let (mut message, mut space, mut at) = (self, "", 0);
        while at < parts.len() {
            let (number, unit) = parts[at];
            if number > 0 {
                message = message.text(space).number(number).text(unit);
                space = " ";
            }
            at += 1;
        }
        message
    }

    pub(crate) const fn as_str(&self) -> &str {
        let (text, _) = self.bytes.split_at(self.len);
        match std::str::from_utf8(text) {
            Ok(text) => text,
            // Only whole texts go in, and a cut falls within the room.
            Err(_) => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_durations_are_exact() {
        let text = Message::new()
            .number(0)
            .text(" ")
            .number(u64::MAX)
            .text(" ")
            .duration(Duration::ZERO)
            .text(" ")
            .duration(Duration::from_millis(1500))
            .text(" ")
            .duration(Duration::from_nanos(u64::MAX));
        assert_eq!(
            text.as_str(),
            "0 18446744073709551615 0s 1s 500ms 9223372036s 854ms 775us 807ns"
        );
    }
}
