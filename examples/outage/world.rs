//! What is the same in both runs: who asks, when, and what the store does.

use std::time::Duration;

/// The 100 ms in which arrivals and wake-ups are counted.
pub(crate) const BUCKET: Duration = Duration::from_millis(100);

/// The store hangs from here on …
pub(crate) const HANGS: Duration = Duration::from_secs(10);

/// … drops here every call that it holds, and answers with errors …
pub(crate) const DROPS: Duration = Duration::from_millis(11_500);

/// … until here.
pub(crate) const MENDED: Duration = Duration::from_secs(20);

/// How long a caller waits for an answer, in both runs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);

/// How much work the store takes on before it turns calls away. More than callers
/// wait for: once it is full, what it does is in vain.
pub(crate) const QUEUE: Duration = Duration::from_secs(3);

/// Each caller has something to ask this often, unless it still waits for the
/// request before.
pub(crate) const EVERY: Duration = Duration::from_secs(10);

/// When the crawl is over, and when the others have nothing more to ask.
const CRAWLED: Duration = Duration::from_secs(30);
const DONE: Duration = Duration::from_secs(150);

/// Whom a request is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tenant {
    Accounts,
    Billing,
    /// Has nine callers of ten.
    Crawler,
}

impl Tenant {
    pub(crate) const ALL: [Self; 3] = [Self::Accounts, Self::Billing, Self::Crawler];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Accounts => "accounts",
            Self::Billing => "billing",
            Self::Crawler => "crawler",
        }
    }

    /// Whose the caller of this number is.
    pub(crate) const fn of(caller: u32) -> Self {
        match caller % 20 {
            0 => Self::Accounts,
            1 => Self::Billing,
            _ => Self::Crawler,
        }
    }

    /// When it has nothing more to ask.
    pub(crate) const fn asks_until(self) -> Duration {
        match self {
            Self::Accounts | Self::Billing => DONE,
            Self::Crawler => CRAWLED,
        }
    }
}

/// When the caller of this number has its first request: all of them evenly over
/// one round.
pub(crate) fn phase(caller: u32, callers: u32) -> Duration {
    EVERY * caller / callers
}

/// Calls a second that the store bears: half as many again as are asked for.
pub(crate) const fn capacity(callers: u32) -> u32 {
    callers * 3 / 20
}

/// One request, and the order that it is about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order {
    /// From 0, in the order in which they are asked for.
    pub(crate) number: u32,
    pub(crate) tenant: Tenant,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    Failed,
    /// For want of a retry token.
    Refused,
}

/// The service, in one of its two forms.
pub(crate) trait Service {
    async fn serve(&self, order: &Order) -> Outcome;
}
