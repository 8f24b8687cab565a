//! Requests as parts of an attempt, against real servers.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod errors;
mod requests;
mod server;
mod services;
mod waits;

/// A client that takes no proxy from the environment.
fn client() -> reqwest::ClientBuilder {
    reqwest::Client::builder().no_proxy()
}
