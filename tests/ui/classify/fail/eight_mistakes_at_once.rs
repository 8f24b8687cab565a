use std::io;
use std::time::Duration;

use retry_core::Classify;

#[derive(Classify)]
enum PayError {
    Missing,
    #[retry(transient, permanent)]
    Both,
    #[retry(transiant)]
    Misspelt,
    #[retry(delegate)]
    TwoFields(io::Error, String),
    #[retry(transient, after = wait)]
    Busy { retry_in: Duration },
    #[retry(permanent, after = wait)]
    Declined { wait: Duration },
    #[retry(transient, kind = refused)]
    Unreachable,
    #[retry]
    Bare,
}

fn classified() -> impl Classify {
    PayError::Missing
}

fn main() {
    classified();
}
