//! What was done.

use std::collections::BTreeMap;
use std::fmt;

use crate::point::{Boundary, Moment, Point};

/// What was done, and what was found.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Processes that died at a fault point.
    pub at_points: BTreeMap<Point, u64>,
    /// Processes that were killed at some time or other.
    pub at_random: u64,
    /// Lives that ended before they came to their fault point.
    pub missed: u64,
    /// Lives of workers.
    pub lives: u64,
    /// Lives that shared their store with another one.
    pub shared: u64,
    /// Operations.
    pub operations: u64,
    /// Those that are done, dead, in review, and removed.
    pub done: u64,
    /// Stopped for good.
    pub dead: u64,
    /// Left to a person.
    pub review: u64,
    /// Removed, once they had expired.
    pub removed: u64,
    /// Attempts whose bodies were polled, by the book.
    pub polled: u64,
    /// Attempts that were given back, by the records.
    pub released: u64,
    /// Attempts that a killed process was in, by the records.
    pub crashed: u64,
    /// Attempts that were polled after they had been given up: their process stalled.
    pub late: u64,
    /// Acknowledgements that were looked for.
    pub acknowledged: u64,
    /// Decisions that were made again.
    pub decisions: u64,
    /// What is not as it must be.
    pub findings: Vec<String>,
}

impl Tally {
    /// All kills.
    pub fn kills(&self) -> u64 {
        self.at_points.values().sum::<u64>() + self.at_random
    }

    /// Kills at this point.
    pub fn at(&self, point: Point) -> u64 {
        self.at_points.get(&point).copied().unwrap_or(0)
    }

    /// Adds what was done elsewhere.
    pub fn add(&mut self, other: Self) {
        for (point, kills) in other.at_points {
            *self.at_points.entry(point).or_default() += kills;
        }
        for (mine, others) in [
            (&mut self.at_random, other.at_random),
            (&mut self.missed, other.missed),
            (&mut self.lives, other.lives),
            (&mut self.shared, other.shared),
            (&mut self.operations, other.operations),
            (&mut self.done, other.done),
            (&mut self.dead, other.dead),
            (&mut self.review, other.review),
            (&mut self.removed, other.removed),
            (&mut self.polled, other.polled),
            (&mut self.released, other.released),
            (&mut self.crashed, other.crashed),
            (&mut self.late, other.late),
            (&mut self.acknowledged, other.acknowledged),
            (&mut self.decisions, other.decisions),
        ] {
            *mine += others;
        }
        self.findings.extend(other.findings);
    }
}

/// A table, and the findings.
impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<13} {:>7} {:>7} {:>7}", "kills", "before", "during", "after")?;
        for boundary in Boundary::ALL {
            write!(f, "{} {:<10}", boundary.code(), boundary.word())?;
            for moment in Moment::ALL {
                write!(f, " {:>7}", self.at(Point { boundary, moment }))?;
            }
            writeln!(f)?;
        }
        writeln!(f, "{:<13} {:>7}", "at random", self.at_random)?;
        writeln!(f, "{:<13} {:>7}", "all", self.kills())?;
        let Self { lives, shared, missed, operations, done, dead, review, removed, .. } = self;
        writeln!(
            f,
            "\nprocesses     {lives}, of which {shared} shared their store and {missed} missed their fault\n\
             operations    {operations}: {done} done, {dead} dead, {review} in review, {removed} removed\n\
             attempts      {} polled, {} given back, {} crashed, {} late\n\
             compared      {} acknowledgements, {} decisions",
            self.polled, self.released, self.crashed, self.late, self.acknowledged, self.decisions
        )?;
        write!(f, "findings      {}", self.findings.len())?;
        self.findings.iter().try_for_each(|finding| write!(f, "\n  {finding}"))
    }
}
