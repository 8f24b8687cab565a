//! Fault injection with real processes.
//!
//! Workers run durable operations on one SQLite file and are killed, by SIGKILL, at
//! [named points](Point) around each write and at any other time; others go on. What
//! the bodies did is written down by the tests' own process, in a [`Book`] that knows
//! nothing of the store, and [compared](audit) with what is recorded.
//!
//! `cargo xtask soak` does more of what the tests here do.
#![cfg(unix)]

pub mod audit;
mod book;
mod campaign;
pub mod disk;
mod draws;
mod faults;
mod folder;
mod point;
pub mod process;
mod said;
mod script;
mod snapshot;
mod tally;

pub use book::{Book, Pen, Poll, Receipt};
pub use campaign::{Campaign, Crew};
pub use draws::Draws;
pub use faults::Faults;
pub use folder::Folder;
pub use point::{Boundary, Fault, Moment, Point};
pub use said::{Answer, Kept, Said};
pub use script::{Kind, Outcome};
pub use snapshot::records;
pub use tally::Tally;
