#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod book;
mod builder;
mod file;
mod identity;
mod migrations;
mod network;
mod place;
mod reader;
mod row;
#[cfg(any(doc, doctest))]
pub mod schema;
mod session;
mod store;
mod task;
mod waiting;
mod wall;
mod writer;

pub use builder::SqliteStoreBuilder;
pub use store::SqliteStore;
