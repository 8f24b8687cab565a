//! What an error means for the retry: derived, written by hand, and said about
//! the error of another crate.

use std::fmt::Display;
use std::io;
use std::time::Duration;

use retry_core::classify::when;
use retry_core::observe::Recorder;
use retry_core::{Class, Classify, Failure, Kind, Retrier, Stopped, retryable};

/// Derived: each variant says it where it is declared.
#[derive(Debug, thiserror::Error, Classify)]
enum PayError {
    #[error("gateway unreachable")]
    #[retry(transient, no_effect, kind = connect)] // never left this host
    Unreachable,
    #[error("gateway busy")]
    #[retry(transient, no_effect, kind = throttled, after = retry_after)]
    Busy { retry_after: Option<Duration> },
    #[error("gateway answered {status}")]
    #[retry(transient, kind = server, code = status)] // may have happened
    Server { status: u16 },
    #[error("declined: {0}")]
    #[retry(permanent)]
    Declined(String),
    #[error("answer not understood")]
    #[retry(unknown)] // a person decides
    Garbled,
    #[error(transparent)]
    #[retry(delegate)] // ask the inner error
    Io(#[from] io::Error),
}

/// By hand: the meaning is in a number, not in a variant.
#[derive(Debug, thiserror::Error)]
#[error("database says {0}")]
struct SqlState(&'static str);

impl Classify for SqlState {
    fn classify(&self) -> Failure {
        match self.0 {
            // Serialization failure, deadlock: the transaction was rolled back.
            "40001" | "40P01" => Failure::transient().no_effect(),
            "53300" => Failure::transient().no_effect().with_kind(Kind::Throttled),
            // The connection broke during the commit.
            "08007" => Failure::unknown(),
            _ => Failure::permanent(),
        }
    }
}

/// For an error of another crate: rules, of which the first that fits decides.
fn half_written(error: &serde_json::Error) -> Failure {
    let rules = when(serde_json::Error::is_eof, Failure::transient().no_effect())
        .or_when(serde_json::Error::is_data, Class::Permanent)
        .otherwise(Class::Unknown);
    rules(error)
}

#[retryable(idempotent, attempt, max_attempts = 4, deadline = "5s", classify = half_written, with = retries)]
async fn settings(retries: &Retrier) -> Result<Vec<u16>, Stopped<serde_json::Error>> {
    // The writer is done by the third attempt.
    let written = if attempt.number() < 3 { "[80, " } else { "[80, 443]" };
    serde_json::from_str(written)
}

fn show(error: &(impl Classify + Display)) {
    println!("  {:<24} {}", error.to_string(), error.classify());
}

#[tokio::main]
async fn main() -> Result<(), Stopped<serde_json::Error>> {
    println!("Derived:");
    show(&PayError::Unreachable);
    show(&PayError::Busy { retry_after: Some(Duration::from_secs(2)) });
    show(&PayError::Server { status: 503 });
    show(&PayError::Declined("no funds".to_owned()));
    show(&PayError::Garbled);
    show(&PayError::Io(io::ErrorKind::ConnectionRefused.into()));
    show(&PayError::Io(io::ErrorKind::ConnectionReset.into()));

    println!("\nBy hand:");
    ["40001", "53300", "08007", "23505"].map(SqlState).iter().for_each(show);

    println!("\nSaid about another crate's error, by `classify = half_written`:");
    let recorder = Recorder::new();
    settings(&Retrier::builder().observer(recorder.clone()).build()).await?;
    recorder.operations().iter().for_each(|id| print!("  {}", recorder.story(id)));
    Ok(())
}
