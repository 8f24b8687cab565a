//! What a run came to.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use retry_core::record::Phase;
use serde::Serialize;

use crate::audit::{Audit, Audited, Recorded};

pub(crate) struct Report {
    pub(crate) audit: Audit,
    pub(crate) kills: u32,
    /// Where the records are, if there are any.
    pub(crate) store: Option<PathBuf>,
}

/// The run in numbers, as JSON has it.
#[derive(Debug, Serialize)]
pub(crate) struct Figures {
    pub(crate) orders: usize,
    /// Orders that the gateway has charged, by its own book.
    pub(crate) charged: usize,
    /// Orders that it has charged more than once.
    pub(crate) duplicates: usize,
    /// Orders of which the book and the record say different things.
    pub(crate) unexplained: usize,
    /// Workers that were killed.
    pub(crate) kills: u32,
    /// Calls, by the book, whose attempt's number is not above all before.
    pub(crate) counter_regressions: usize,
    /// Orders that were tried more often than their policy allows.
    pub(crate) over_policy: usize,
    /// Orders about which a person decides.
    pub(crate) review: usize,
    /// Orders that were given up.
    pub(crate) dead: usize,
}

impl Report {
    pub(crate) fn figures(&self) -> Figures {
        let audit = &self.audit;
        Figures {
            orders: audit.orders.len(),
            charged: audit.count(|order| order.charges > 0),
            duplicates: audit.count(|order| order.charges > 1),
            unexplained: audit.count(|order| order.unexplained.is_some()) + audit.strangers,
            kills: self.kills,
            counter_regressions: audit.orders.iter().map(|order| order.regressions).sum(),
            over_policy: audit.count(|order| order.is_over_policy),
            review: audit.count(|order| order.phase() == Some(Phase::Review)),
            dead: audit.count(|order| order.phase() == Some(Phase::Dead)),
        }
    }

    /// Whether every order is charged once or parked with its reason, and every
    /// count and decision is as it should be.
    pub(crate) fn is_sound(&self) -> bool {
        let Figures { duplicates, unexplained, counter_regressions, over_policy, .. } =
            self.figures();
        [duplicates, unexplained, counter_regressions, over_policy] == [0; 4]
            && self.audit.differences.is_empty()
    }

    fn records(&self) -> impl Iterator<Item = &Recorded> {
        self.audit.orders.iter().filter_map(|order| order.record.as_ref())
    }
}

/// The tables, and how to read on.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.outcomes(f)?;
        self.parked(f)?;
        self.checks(f)?;
        self.where_to_read_on(f)
    }
}

impl Report {
    /// What became of the orders, a row an outcome.
    fn outcomes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut outcomes: BTreeMap<String, [usize; 3]> = BTreeMap::new();
        for order in &self.audit.orders {
            let [orders, charged, attempts] = outcomes.entry(outcome(order)).or_default();
            *orders += 1;
            *charged += usize::from(order.charges > 0);
            *attempts += order.record.as_ref().map_or(0, |record| record.attempts as usize);
        }
        writeln!(f, "{:<36}{:>10}{:>10}{:>10}", "", "orders", "charged", "attempts")?;
        for (outcome, [orders, charged, attempts]) in outcomes {
            writeln!(f, "{outcome:<36}{orders:>10}{charged:>10}{attempts:>10}")?;
        }
        Ok(())
    }

    /// Each order that is not done, with its reason.
    fn parked(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut parked, mut lost) = (0, 0);
        writeln!(f)?;
        for order in &self.audit.orders {
            let Some(record) = &order.record else { continue };
            let Some(stop) = &record.stop else { continue };
            let charged = if order.charges > 0 { "charged" } else { "" };
            (parked, lost) = (parked + 1, lost + usize::from(order.charges > 0));
            writeln!(f, "{:<10}  {:<6}  {charged:<7}  {}", order.order, record.phase, stop.text)?;
            if let Some(error) = &record.last_error {
                writeln!(f, "{:29}the last error: {error}", "")?;
            }
        }
        if parked == 0 {
            return Ok(());
        }
        writeln!(f, "\n{lost} of these are charged: no answer that said so arrived.\n")
    }

    fn checks(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Figures { duplicates, unexplained, counter_regressions, over_policy, kills, .. } =
            self.figures();
        let Audit { decisions, differences, .. } = &self.audit;
        for (what, number) in [
            ("orders charged more than once", duplicates),
            ("orders that book and record tell differently", unexplained),
            ("calls whose attempt number went back", counter_regressions),
            ("orders tried more often than their policy allows", over_policy),
            ("decisions that a replay makes otherwise", differences.len()),
        ] {
            writeln!(f, "{what:<56}{number:>10}")?;
        }
        for (what, orders) in self.unexplained() {
            writeln!(f, "  {what}: {orders}")?;
        }
        for difference in differences {
            writeln!(f, "  {difference}")?;
        }
        let losses: usize = self.records().map(|record| record.losses).sum();
        let crashes: usize = self.records().map(|record| record.crashes).sum();
        writeln!(f)?;
        if self.store.is_none() {
            return writeln!(
                f,
                "{kills} kills, and nothing is left of what was counted before them."
            );
        }
        writeln!(
            f,
            "{kills} kills. An operation lost its process {losses} times, {crashes} of these in an"
        )?;
        writeln!(f, "attempt. {decisions} decisions were replayed from the records.")
    }

    fn unexplained(&self) -> BTreeMap<&'static str, usize> {
        let mut unexplained = BTreeMap::new();
        for order in &self.audit.orders {
            if let Some(what) = order.unexplained {
                *unexplained.entry(what).or_default() += 1;
            }
        }
        unexplained
    }

    /// The command for the order that most happened to.
    fn where_to_read_on(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = self.records().max_by_key(|record| (record.crashes, record.attempts));
        let (Some(store), Some(record)) = (&self.store, most) else {
            return Ok(());
        };
        let (operation, store) = (&record.operation, store.display());
        writeln!(f)?;
        writeln!(f, "The story of any of them, here of the one that most happened to:")?;
        write!(f, "  cargo run -p retryctl -- explain {operation} --store {store}")
    }
}

/// As a row has it.
fn outcome(order: &Audited) -> String {
    let Some(record) = &order.record else {
        return "not recorded".to_owned();
    };
    match &record.stop {
        None => record.phase.to_string(),
        Some(stop) => format!("{}, {}", record.phase, stop.reason),
    }
}
