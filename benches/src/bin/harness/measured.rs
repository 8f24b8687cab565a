//! All that was measured in one run.

use anyhow::{Context, Result};
use retry_benches::{HAND_UNDER_TIMEOUT, OURS, SUBJECTS, Scenario, Subject};

use crate::checking::{self, Checked};
use crate::instructions::{self, Instructions};
use crate::{allocations, decision, store};

/// The numbers of one subject.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) subject: &'static Subject,
    /// By scenario, in the order of [`Scenario::ALL`].
    pub(crate) instructions: [Instructions; 3],
    pub(crate) allocations: [f64; 3],
    pub(crate) future_size: usize,
}

impl Row {
    fn of(subject: &'static Subject) -> Result<Self> {
        eprintln!("counting: {}", subject.name);
        let count = |scenario: Scenario| instructions::of_one(&[subject.name, scenario.name()]);
        let [ready, waits_once, three_failures] = Scenario::ALL;
        Ok(Self {
            subject,
            instructions: [count(ready)?, count(waits_once)?, count(three_failures)?],
            allocations: Scenario::ALL.map(|scenario| allocations::an_operation(subject, scenario)),
            future_size: (subject.future_size)(),
        })
    }
}

/// What one decision of ours costs.
#[derive(Debug)]
pub(crate) struct Decision {
    pub(crate) instructions: Instructions,
    /// Not measured where only bounds are checked.
    pub(crate) nanoseconds: Option<f64>,
}

/// All numbers of a run.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) others: Vec<Row>,
    pub(crate) ours: Row,
    pub(crate) decision: Decision,
    pub(crate) store: store::Measured,
    /// Empty where only bounds are checked.
    pub(crate) checked: Vec<Checked>,
}

impl Measured {
    /// Everything, for the report.
    pub(crate) fn everything() -> Result<Self> {
        let mut measured = Self::of(SUBJECTS, store::Measured::everything()?)?;
        measured.decision.nanoseconds = Some(decision::nanoseconds(OURS.decide));
        measured.checked = checking::all()?;
        Ok(measured)
    }

    /// Only what the bounds need.
    pub(crate) fn bounded() -> Result<Self> {
        Self::of(&[HAND_UNDER_TIMEOUT], store::Measured::counted()?)
    }

    fn of(subjects: &[&'static Subject], store: store::Measured) -> Result<Self> {
        Ok(Self {
            others: subjects.iter().map(|subject| Row::of(subject)).collect::<Result<_>>()?,
            ours: Row::of(OURS.subject)?,
            decision: Decision {
                instructions: instructions::of_one(&["decision"])?,
                nanoseconds: None,
            },
            store,
            checked: Vec::new(),
        })
    }

    /// The row that the bounds compare with.
    pub(crate) fn hand_under_timeout(&self) -> Result<&Row> {
        let row = self.others.iter().find(|row| row.subject.name == HAND_UNDER_TIMEOUT.name);
        row.context("the hand loop under `timeout` was not measured")
    }
}
