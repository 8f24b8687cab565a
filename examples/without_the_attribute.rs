//! Without the attribute: a closure, numbers known only at run time, and the
//! delays alone, for another crate's loop.

use std::error::Error;
use std::time::Duration;

use backon::Retryable;
use retry_core::observe::Recorder;
use retry_core::{Backoff, Class, Operation, Policy, Retrier};

/// A mirror that is out of date until it was asked often enough.
async fn version(mirror: &str, asked: u32) -> Result<u32, String> {
    if asked < 3 { Err(format!("{mirror} is busy")) } else { Ok(40 + asked) }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let attempts = std::env::args().nth(1).map_or(Ok(5), |text| text.parse())?;

    println!("A closure under a policy of {attempts} attempts (or say another number):\n");
    let recorder = Recorder::new();
    let retrier = Retrier::builder().observer(recorder.clone()).build();
    let policy = Policy::new(attempts, Duration::from_secs(5));
    let fetched = Operation::idempotent("mirror.version", policy)
        .with(&retrier)
        .classify(|_: &String| Class::Transient)
        // 43 is too old: a value can be rejected like an error.
        .reject(|version| *version < 44)
        .run(|attempt| version("mirror-1", attempt.number()))
        .await;
    recorder.operations().iter().for_each(|id| print!("{}", recorder.story(id)));
    match fetched {
        Ok(version) => println!("\nversion {version}\n"),
        Err(stopped) => println!("\n{stopped}\n"),
    }

    println!("The same delays, in the loop of another crate (backon):\n");
    let backoff = Backoff::exponential(Duration::from_millis(100)).cap(Duration::from_secs(1));
    let mut asked = 0;
    let fetch = || {
        asked += 1;
        version("mirror-2", asked)
    };
    // Endless; how many are used is the other crate's to say.
    let version = fetch
        .retry(backoff.delays("mirror-2").take(4))
        .notify(|error, delay| println!("  {error}; waits {delay:?}"))
        .await?;
    println!("  version {version}");
    Ok(())
}
