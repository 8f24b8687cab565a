//! The loop of durable operations, on virtual time and a store in memory.

mod answers;
mod crashes;
mod drops;
mod protected;
mod refused;
mod service;
