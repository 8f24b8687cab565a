//! The list of what is compared.

mod backon;
mod hand;
mod ours;
mod plain;
mod timeout;
mod tokio_retry;
mod tokio_retry2;
mod tower;

use crate::subject::{Ours, Subject};

/// All subjects, in the order of the report.
pub const SUBJECTS: &[&Subject] = &[
    &plain::SUBJECT,
    &hand::SUBJECT,
    HAND_UNDER_TIMEOUT,
    &backon::SUBJECT,
    &tokio_retry::SUBJECT,
    &tokio_retry2::SUBJECT,
    &tower::SUBJECT,
];

/// The fair comparison: the loop that gives the same promise as ours.
pub const HAND_UNDER_TIMEOUT: &Subject = &timeout::SUBJECT;

/// What the bounds are about.
pub const OURS: Ours = ours::OURS;
