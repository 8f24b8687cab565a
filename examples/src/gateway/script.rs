//! How the gateway misbehaves: a pure function of the seed, the subject of the
//! call and the number of the call for that subject. Runs repeat.

use std::time::Duration;

use sha2::{Digest, Sha256};

/// What the gateway does with one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// Does the work and answers.
    Work,
    /// Answers an error status, with or without having done the work.
    Fail { status: u16, hint: Hint, worked: bool },
    /// Resets the connection after so many bytes of the answer.
    Reset { after_bytes: usize, worked: bool },
    /// Does the work and answers when the client has long gone.
    Late,
    /// Is still at work when the client has long gone: the next call with the
    /// same key meets it.
    Stall,
    /// Answers 200 and bytes that mean nothing.
    Garble { worked: bool },
    /// Refuses for good, and says so.
    Decline,
}

/// The `Retry-After` of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hint {
    None,
    Seconds(u64),
    /// As a date, this far ahead.
    Date(Duration),
}

/// A second ahead at most: dates have whole seconds.
const SOON: Hint = Hint::Date(Duration::from_secs(1));

const fn fail(status: u16, hint: Hint, worked: bool) -> Act {
    Act::Fail { status, hint, worked }
}

/// One call in so many, of 1000.
type Odds = &'static [(u32, Act)];

const CHARGE: Odds = &[
    (560, Act::Work),
    (60, fail(503, Hint::None, false)),
    (40, fail(503, Hint::None, true)),
    (50, fail(503, Hint::Seconds(0), false)),
    (10, fail(503, Hint::Seconds(1), false)),
    (15, fail(503, SOON, false)),
    (50, fail(429, Hint::Seconds(0), false)),
    (10, fail(429, Hint::Seconds(1), false)),
    (15, fail(429, SOON, false)),
    (30, fail(500, Hint::None, true)),
    (40, Act::Reset { after_bytes: 0, worked: false }),
    (40, Act::Reset { after_bytes: 0, worked: true }),
    (20, Act::Reset { after_bytes: 40, worked: true }),
    (30, Act::Late),
    (20, Act::Stall),
    (6, Act::Garble { worked: true }),
    (4, Act::Garble { worked: false }),
];

const BALANCE: Odds = &[
    (700, Act::Work),
    (100, fail(503, Hint::None, false)),
    (40, fail(503, Hint::Seconds(0), false)),
    (50, fail(429, Hint::Seconds(0), false)),
    (50, Act::Reset { after_bytes: 0, worked: true }),
    (50, Act::Late),
    (10, Act::Garble { worked: true }),
];

const LABEL: Odds = &[
    (700, Act::Work),
    (100, fail(429, Hint::Seconds(0), false)),
    (50, fail(503, Hint::None, false)),
    (50, fail(503, Hint::None, true)),
    (50, Act::Reset { after_bytes: 0, worked: true }),
    (50, Act::Late),
];

/// What becomes of an order whatever is tried: of 1000, the rest go call by
/// call.
const FATES: Odds = &[
    (25, Act::Decline),
    (10, fail(503, Hint::None, false)),
    (5, fail(503, Hint::Seconds(3600), false)),
];

/// From this call on an order without a fate is served.
const PATIENCE: u32 = 5;

/// One attempt in so many, of 1000, is sent to an address where nobody listens.
const STALE_ADDRESS: u32 = 50;

/// The script of one seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Script {
    seed: u64,
}

impl Script {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// What happens to this call, counted from 1, that asks to charge an order.
    pub(crate) fn charge(&self, order: &str, call: u32) -> Act {
        match pick(FATES, self.draw("fate", order, 0)) {
            Some(fate) => fate,
            None if call >= PATIENCE => Act::Work,
            None => pick(CHARGE, self.draw("charge", order, call)).unwrap_or(Act::Work),
        }
    }

    /// What happens to this call that asks for a balance.
    pub(crate) fn balance(&self, account: &str, call: u32) -> Act {
        pick(BALANCE, self.draw("balance", account, call)).unwrap_or(Act::Work)
    }

    /// What happens to this call that asks for a label.
    pub(crate) fn label(&self, parcel: &str, call: u32) -> Act {
        pick(LABEL, self.draw("label", parcel, call)).unwrap_or(Act::Work)
    }

    /// Whether this attempt, from 1, is given an address where nobody listens.
    pub(crate) fn is_stale(&self, subject: &str, attempt: u32) -> bool {
        attempt < PATIENCE && self.draw("address", subject, attempt) < STALE_ADDRESS
    }

    /// A number below 1000.
    fn draw(&self, what: &str, subject: &str, call: u32) -> u32 {
        let digest = Sha256::digest(format!("{}/{what}/{subject}/{call}", self.seed));
        u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]) % 1000
    }
}

fn pick(odds: Odds, draw: u32) -> Option<Act> {
    let mut upper = 0;
    odds.iter().find_map(|(share, act)| {
        upper += share;
        (draw < upper).then_some(*act)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_odds_add_up() {
        let sum = |odds: Odds| odds.iter().map(|(share, _)| share).sum::<u32>();
        assert_eq!([CHARGE, BALANCE, LABEL].map(sum), [1000; 3]);
        assert!(sum(FATES) < 100);
    }

    #[test]
    fn runs_repeat_and_seeds_differ() {
        let run = |seed| {
            let script = Script::new(seed);
            let calls = (0..200).flat_map(|order| (1..=4).map(move |call| (order, call)));
            calls
                .map(|(order, call)| script.charge(&format!("order-{order}"), call))
                .collect::<Vec<_>>()
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
    }

    #[test]
    fn a_thousand_orders_see_every_act() {
        let script = Script::new(1);
        let seen: HashSet<_> = (0..1000)
            .map(|order| format!("{:?}", script.charge(&format!("order-{order}"), 1)))
            .collect();
        for (_, act) in CHARGE.iter().chain(FATES) {
            assert!(seen.contains(&format!("{act:?}")), "{act:?}");
        }
        let stale = (0..1000).filter(|order| script.is_stale(&format!("order-{order}"), 1)).count();
        assert!((25..100).contains(&stale), "{stale}");
    }

    #[test]
    fn an_order_without_a_fate_is_served_in_the_end() {
        let script = Script::new(1);
        for order in 0..1000 {
            let order = format!("order-{order}");
            let last = script.charge(&order, PATIENCE);
            let fates = FATES.iter().map(|(_, fate)| *fate);
            assert!(last == Act::Work || fates.into_iter().any(|fate| fate == last), "{order}");
            assert!(!script.is_stale(&order, PATIENCE));
        }
    }
}
