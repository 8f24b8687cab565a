use std::time::Duration;

use retry_core::Classify;

#[derive(Classify)]
enum PayError {
    #[retry(permanent, after = wait)]
    Declined { wait: Duration },
    #[retry(unknown, after = 0)]
    Garbled(Duration),
}

#[derive(Classify)]
#[retry(permanent, after = 0)]
struct Refused(Duration);

fn main() {}
