use std::io;
use std::time::Duration;

use retry_core::Classify;

#[derive(Classify)]
enum PayError {
    #[retry(transient, after = wait)]
    Busy { retry_in: Duration, status: u16 },
    #[retry(transient, code = 1)]
    Server(u16),
    #[retry(transient, code = status)]
    Unreachable,
    #[retry(delegate = source)]
    Io(io::Error),
}

fn main() {}
