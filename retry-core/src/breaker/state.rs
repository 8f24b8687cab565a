//! What can be read of a breaker.

use std::fmt;
use std::time::Instant;

/// The state of a breaker at a time. Made by [`Breaker::state`](super::Breaker::state).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Every call is let through.
    Closed,
    /// No call is let through.
    Open {
        /// When it will be half-open. `None`: when it is closed by hand.
        until: Option<Instant>,
    },
    /// Probes are let through.
    HalfOpen {
        /// How many more, now.
        free: u32,
    },
}

impl State {
    /// The state as a word, for labels: `closed`, `open`, `half_open`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open { .. } => "open",
            Self::HalfOpen { .. } => "half_open",
        }
    }
}

/// The word.
impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A change of state, told to whoever caused it, and to nobody else: so a
/// change is counted once.
///
/// Within a generation a breaker opens, then half-opens, then closes. Where
/// changes are reported by several threads, that and the generation tell which
/// of two came later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transition {
    /// It opened.
    Opened {
        /// How often it has opened, this time included.
        generation: u32,
        /// When it will be half-open. `None`: when it is closed by hand.
        until: Option<Instant>,
    },
    /// The first probe after an open period was let through.
    HalfOpened {
        /// How often it has opened.
        generation: u32,
    },
    /// It closed.
    Closed {
        /// How often it has opened.
        generation: u32,
    },
}

impl Transition {
    /// How often the breaker has opened.
    pub const fn generation(self) -> u32 {
        match self {
            Self::Opened { generation, .. }
            | Self::HalfOpened { generation }
            | Self::Closed { generation } => generation,
        }
    }
}
