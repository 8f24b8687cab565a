//! Where a process can be made to die: the named fault points.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context, Error, bail};
use retry_core::record::{Change, Event, New};
use serde::{Deserialize, Serialize};

/// A place in the life of an operation where something is written. A write passes
/// each boundary that its content names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Boundary {
    /// `T0`: an operation begins to exist.
    Enqueue,
    /// `T1`: an attempt is charged, or the lease taken: `attempt_started`, `Claim`,
    /// and `TakeOver` of what nobody holds.
    Claim,
    /// `T2`: `result_recorded`.
    Success,
    /// `T3`: `delay_chosen`, and an attempt that is abandoned: what follows it is
    /// judged in the store.
    Retry,
    /// `T4`: `deferred`, `parked`, `released`: no attempt is made, or none now.
    Defer,
    /// `T5`: `dead`, `review_opened`.
    Stop,
    /// `T6`: the lease is extended.
    Heartbeat,
    /// `T7`: a lost lease is found: `Reclaim`, and `TakeOver` by the same call.
    Reclaim,
    /// `T9`: what has expired is removed.
    Retain,
}

/// When, at a boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Moment {
    /// Before the write is asked for.
    Before,
    /// It is asked for, and not acknowledged: it may be kept or not.
    During,
    /// It is acknowledged, and nobody has acted on that.
    After,
}

/// A named fault point: `T3.before`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Point {
    /// Where.
    pub boundary: Boundary,
    /// When.
    pub moment: Moment,
}

/// Where a process dies: at a point, when that is passed for this time. Written
/// `T3.before:2`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The point.
    pub point: Point,
    /// The time, from 1.
    pub passing: u32,
}

impl Boundary {
    /// Each, in the order of their numbers.
    pub const ALL: [Self; 9] = [
        Self::Enqueue,
        Self::Claim,
        Self::Success,
        Self::Retry,
        Self::Defer,
        Self::Stop,
        Self::Heartbeat,
        Self::Reclaim,
        Self::Retain,
    ];

    /// `T0` to `T9`, without `T8`: what a person does.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Enqueue => "T0",
            Self::Claim => "T1",
            Self::Success => "T2",
            Self::Retry => "T3",
            Self::Defer => "T4",
            Self::Stop => "T5",
            Self::Heartbeat => "T6",
            Self::Reclaim => "T7",
            Self::Retain => "T9",
        }
    }

    /// In a word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Enqueue => "enqueue",
            Self::Claim => "claim",
            Self::Success => "success",
            Self::Retry => "retry",
            Self::Defer => "defer",
            Self::Stop => "stop",
            Self::Heartbeat => "heartbeat",
            Self::Reclaim => "reclaim",
            Self::Retain => "retain",
        }
    }

    /// Those of an operation that is about to begin.
    pub fn of_new(new: &New) -> Vec<Self> {
        if new.started { vec![Self::Enqueue, Self::Claim] } else { vec![Self::Enqueue] }
    }

    /// Those of a change. What a `TakeOver` finds is not told by it: `is_lost` is
    /// whether the last holder was.
    pub fn of_change(change: &Change, is_lost: bool) -> Vec<Self> {
        match change {
            Change::TakeOver { .. } if is_lost => vec![Self::Reclaim],
            Change::TakeOver { .. } | Change::Claim { .. } => vec![Self::Claim],
            Change::Reclaim { .. } => vec![Self::Reclaim],
            Change::Heartbeat { .. } => vec![Self::Heartbeat],
            Change::Abandon { ended: Some(_), .. } => vec![Self::Retry],
            Change::Abandon { ended: None, .. } => vec![Self::Defer],
            Change::Append { events, .. } => events.iter().filter_map(Self::of_event).collect(),
        }
    }

    fn of_event(event: &Event) -> Option<Self> {
        match event {
            Event::AttemptStarted { .. } => Some(Self::Claim),
            Event::ResultRecorded { .. } => Some(Self::Success),
            Event::DelayChosen(_) => Some(Self::Retry),
            Event::Deferred { .. } | Event::Parked { .. } | Event::Released { .. } => {
                Some(Self::Defer)
            }
            Event::Dead { .. } | Event::ReviewOpened { .. } => Some(Self::Stop),
            _ => None,
        }
    }
}

impl Moment {
    /// Each, in order.
    pub const ALL: [Self; 3] = [Self::Before, Self::During, Self::After];

    /// In a word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::During => "during",
            Self::After => "after",
        }
    }
}

impl Point {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        Boundary::ALL.into_iter().flat_map(|boundary| {
            Moment::ALL.into_iter().map(move |moment| Self { boundary, moment })
        })
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.boundary.code(), self.moment.word())
    }
}

impl FromStr for Point {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let point = Self::all().find(|point| point.to_string() == text);
        point.with_context(|| format!("`{text}` is no fault point; one is `T3.before`"))
    }
}

impl Serialize for Point {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Point {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.point, self.passing)
    }
}

impl FromStr for Fault {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let (point, passing) = text.split_once(':').unwrap_or((text, "1"));
        let passing = passing.parse().with_context(|| format!("`{passing}` is no number"))?;
        if passing == 0 {
            bail!("a point is passed for the first time as number 1");
        }
        Ok(Self { point: point.parse()?, passing })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_point_has_a_name_of_its_own() {
        let names: Vec<_> = Point::all().map(|point| point.to_string()).collect();
        assert_eq!(names.len(), 27);
        assert_eq!((names[0].as_str(), names[26].as_str()), ("T0.before", "T9.after"));
        for (name, point) in names.iter().zip(Point::all()) {
            assert_eq!(name.parse::<Point>().unwrap(), point);
            let fault = Fault { point, passing: 3 };
            assert_eq!(fault.to_string().parse::<Fault>().unwrap(), fault);
        }
        for wrong in ["T8.before", "T3", "T3.before:0", "T3.before:x", ""] {
            assert!(wrong.parse::<Fault>().is_err(), "{wrong}");
        }
    }
}
