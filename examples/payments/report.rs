//! What a run came to.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use retry_core::observe::Event;
use retry_core::{Decision, OperationId};
use retry_examples::gateway::Summary;
use serde::Serialize;

use crate::timeline::asked;

/// A run in numbers. As JSON it has the fields that are about charges.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) orders: usize,
    /// Orders that the gateway has booked, by its own book.
    pub(crate) charged: usize,
    /// Orders that it has booked more than once.
    pub(crate) duplicates: usize,
    /// Orders that are neither booked nor stopped with a reason.
    pub(crate) unexplained: usize,
    /// Calls to charge that the gateway received.
    pub(crate) calls: u64,
    /// How often charging stopped, by reason.
    pub(crate) stops: BTreeMap<&'static str, u32>,
    /// Orders that are booked, and whose answer was lost: charging them stopped.
    #[serde(skip)]
    pub(crate) lost: usize,
    #[serde(skip)]
    pub(crate) book: Summary,
    #[serde(skip)]
    pub(crate) tallies: Tallies,
}

impl Report {
    /// Whether every order is charged once or reported with its reason.
    pub(crate) fn is_sound(&self) -> bool {
        self.duplicates == 0 && self.unexplained == 0
    }
}

/// What the service did, by operation.
#[derive(Debug, Default)]
pub(crate) struct Tallies(BTreeMap<String, Tally>);

#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    operations: u32,
    attempts: u32,
    done: u32,
    pub(crate) stops: BTreeMap<&'static str, u32>,
    computed: Waits,
    asked: Waits,
}

#[derive(Clone, Copy, Debug, Default)]
struct Waits {
    number: u32,
    time: Duration,
}

impl Tallies {
    pub(crate) fn add(&mut self, events: &[(OperationId, Event)]) {
        for (operation, event) in events {
            let tally = self.0.entry(operation.name().to_owned()).or_default();
            match event {
                Event::AttemptFailed { decision: Decision::ScheduleRetry(wait), .. } => {
                    let waits =
                        if asked(wait).is_some() { &mut tally.asked } else { &mut tally.computed };
                    waits.number += 1;
                    waits.time += wait.delay();
                }
                Event::Succeeded { attempts, .. } => {
                    tally.operations += 1;
                    tally.attempts += attempts;
                    tally.done += 1;
                }
                Event::Stopped { attempts, stop, .. } => {
                    tally.operations += 1;
                    tally.attempts += attempts;
                    *tally.stops.entry(stop.reason().code()).or_default() += 1;
                }
                _ => {}
            }
        }
    }

    /// The tally of an operation.
    pub(crate) fn of(&self, operation: &str) -> Tally {
        self.0.get(operation).cloned().unwrap_or_default()
    }
}

/// The table, a column an operation.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { orders, charged, duplicates, unexplained, lost, book, tallies, .. } = self;
        let columns = ["charge", "print_label", "balance"];
        let tallies = columns.map(|operation| tallies.of(&format!("payments.{operation}")));
        let counts = |count: fn(&Tally) -> u32| tallies.each_ref().map(count).map(text);

        row(f, "", columns.map(str::to_owned))?;
        row(f, "operations", counts(|tally| tally.operations))?;
        row(f, "attempts", counts(|tally| tally.attempts))?;
        row(f, "calls received", [book.calls, book.label_calls, book.balance_calls].map(text))?;
        row(f, "booked, printed", [text(book.booked), text(book.labelled), String::new()])?;
        row(f, "duplicates", [text(*duplicates), text(book.label_duplicates), String::new()])?;
        row(f, "done", counts(|tally| tally.done))?;
        let reasons: BTreeSet<_> = tallies.iter().flat_map(|tally| tally.stops.keys()).collect();
        for reason in reasons {
            let times = |tally: &Tally| tally.stops.get(reason).map_or(String::new(), text);
            row(f, &format!("stopped: {reason}"), tallies.each_ref().map(times))?;
        }
        row(f, "waits, computed", tallies.each_ref().map(|tally| tally.computed.to_string()))?;
        row(f, "waits, asked for", tallies.each_ref().map(|tally| tally.asked.to_string()))?;
        write!(
            f,
            "\n{orders} orders: {charged} charged ({lost} of them reported as stopped: the answer \
             was lost),\n{duplicates} charged more than once, {unexplained} neither charged nor \
             reported"
        )
    }
}

fn row(
    f: &mut fmt::Formatter<'_>,
    label: &str,
    [charge, print, balance]: [String; 3],
) -> fmt::Result {
    let row = format!("{label:<28} {charge:>14} {print:>14} {balance:>14}");
    writeln!(f, "{}", row.trim_end())
}

fn text(number: impl ToString) -> String {
    number.to_string()
}

impl fmt::Display for Waits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.number {
            0 => Ok(()),
            number => write!(f, "{number} in {:.1} s", self.time.as_secs_f64()),
        }
    }
}
