//! Both runs side by side.

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use serde::Serialize;

use crate::figures::Figures;
use crate::run::Runs;
use crate::world::{DROPS, HANGS, MENDED, Tenant, capacity};

#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Report {
    pub(crate) naive: Figures,
    pub(crate) budgeted: Figures,
    #[serde(skip)]
    pub(crate) callers: u32,
    /// When no retry token was left, in the budgeted run.
    #[serde(skip)]
    pub(crate) empty: Range<Duration>,
}

impl Report {
    pub(crate) fn of(runs: &Runs) -> Self {
        let empty = runs.budgeted.empty().unwrap_or_default();
        let naive = Figures::of(&runs.naive, &empty);
        let budgeted = Figures::of(&runs.budgeted, &empty);
        Self { naive, budgeted, callers: runs.callers, empty }
    }
}

const MEANING: &str = "\
Naive: three tries in each of three layers are 27 calls. They outlast the outage: the store
works on calls whose callers have given up, and stays down until they have run out of tries.
Budgeted: what an inner layer has given up no outer one repeats, and of five calls one may be
repeated. First attempts need no token, and no tenant uses up the tokens of another.";

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { callers, empty, .. } = self;
        let seconds = |time: Duration| format!("{:.1} s", time.as_secs_f64());
        writeln!(
            f,
            "{callers} callers of three tenants, nine of ten the crawler's, call a store through \
             three\nlayers that retry. It bears {} calls a second, hangs at {}, drops all calls at \
             {},\nand answers with errors until {}.\n",
            capacity(*callers),
            seconds(HANGS),
            seconds(DROPS),
            seconds(MENDED),
        )?;
        writeln!(f, "{:<58}{:>10}{:>10}", "", "naive", "budgeted")?;
        let mut row = |label: &str, value: &dyn Fn(&Figures) -> String| {
            let (naive, budgeted) = (value(&self.naive), value(&self.budgeted));
            writeln!(f, "{label:<58}{naive:>10}{budgeted:>10}")
        };
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        row("requests asked for", &|it| it.asked.to_string())?;
        row("calls made", &|it| it.calls.to_string())?;
        row("calls a request, asked for in the outage", &|it| format!("{:.2}", it.amplification))?;
        row(
            &format!(
                "  while no token is left ({} to {})",
                seconds(empty.start),
                seconds(empty.end)
            ),
            &|it| format!("{:.2}", it.amplification_while_empty),
        )?;
        row("most calls for one request", &|it| it.most.to_string())?;
        row("arrivals in the busiest 100 ms of the outage", &|it| it.peak.to_string())?;
        row("  over the mean", &|it| format!("{:.2}", it.peak_to_mean))?;
        row("first retries of those dropped, busiest 100 ms", &|it| {
            it.wake_ups.largest().to_string()
        })?;
        row("  over the mean of a spread of 500 ms", &|it| {
            format!("{:.2}", f64::from(it.wake_ups.largest()) / it.wake_ups.mean())
        })?;
        row("recovered after the outage", &|it| {
            it.recovery_s.map_or("never".to_owned(), |recovery| format!("{recovery:.1} s"))
        })?;
        row("first attempts answered while no token is left", &|it| {
            percent(it.first_attempts_served)
        })?;
        for tenant in Tenant::ALL.map(Tenant::name) {
            row(&format!("retries of {tenant}, of all in that time"), &|it| {
                percent(it.shares.get(tenant).copied().unwrap_or(0.0))
            })?;
        }
        writeln!(f, "\n{MEANING}")
    }
}
