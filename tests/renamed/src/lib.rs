//! A facade: hands on a crate that it knows by another name.

pub use retries as retry_core;
