//! What can be wrong with a record.

use std::fmt;

use super::RecordId;

/// What can be wrong with a record, or with what is to be written into one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordError {
    /// A text in the place of something else.
    NotA {
        /// What was expected.
        expected: &'static str,
        /// What was found, cut.
        found: String,
    },
    /// A value cannot be written as JSON.
    Unwritable {
        /// The arguments, the result, the policy.
        what: &'static str,
        /// The serializer's words.
        why: String,
    },
    /// The record is not what was written: a checksum or a number does not fit.
    Damaged {
        /// The record.
        record: RecordId,
        /// The entry, from 1; 0 where it is not one entry's fault.
        entry: u32,
        /// What does not fit.
        what: String,
    },
    /// An entry is whole, and this version cannot read it.
    Unreadable {
        /// The record.
        record: RecordId,
        /// The entry, from 1.
        entry: u32,
        /// Which word or number is not known.
        what: String,
    },
    /// The result is whole, and not of the type that the function returns now.
    OtherResult {
        /// The record.
        record: RecordId,
        /// What does not fit.
        why: String,
    },
    /// The record was begun under rules that this version does not know.
    NewerRules {
        /// The record.
        record: RecordId,
        /// Its rules.
        rules: u32,
    },
    /// The event is not what the pure function decides.
    Undecided {
        /// What was to be kept.
        recorded: String,
        /// The decision.
        decided: String,
    },
    /// The event cannot follow what the record holds.
    Illegal {
        /// The event.
        event: &'static str,
        /// What the record holds.
        holds: String,
    },
}

impl RecordError {
    pub(crate) fn not(expected: &'static str, found: &str) -> Self {
        const SHOWN: usize = 64;
        Self::NotA { expected, found: found.chars().take(SHOWN).collect() }
    }
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotA { expected, found } => {
                write!(f, "`{}` is not {expected}", found.escape_debug())
            }
            Self::Unwritable { what, why } => write!(f, "{what} cannot be kept as JSON: {why}"),
            Self::Damaged { record, entry: 0, what } => {
                write!(
                    f,
                    "record {record} is damaged: {what}; nothing was changed, restore it from a backup"
                )
            }
            Self::Damaged { record, entry, what } => write!(
                f,
                "record {record} is damaged at entry {entry}: {what}; nothing was changed, restore it from a backup"
            ),
            Self::Unreadable { record, entry, what } => write!(
                f,
                "entry {entry} of record {record} was made by another version of retry-core: {what}; \
                 nothing was changed, read it with that version"
            ),
            Self::OtherResult { record, why } => write!(
                f,
                "the result in record {record} is not of the type that the function returns: {why}; \
                 nothing was changed, let the type read what was kept, or give the operation a new name"
            ),
            Self::NewerRules { record, rules } => write!(
                f,
                "record {record} was begun under decision rules {rules}, and this version knows rules up to {}; \
                 it can only go on with the version that began it, or a later one",
                super::RULES
            ),
            Self::Undecided { recorded, decided } => {
                write!(f, "{recorded} cannot be kept: the decision is {decided}")
            }
            Self::Illegal { event, holds } => {
                write!(f, "`{event}` cannot follow: the record {holds}")
            }
        }
    }
}

impl std::error::Error for RecordError {}
