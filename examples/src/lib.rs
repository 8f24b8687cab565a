//! Support for the examples: the other side that they call.

pub mod gateway;
