use retry_core::Classify;

#[derive(Classify)]
enum PayError {
    #[retry(permanent)]
    Declined,
    Unreachable,
    #[retry()]
    Busy,
    #[retry(no_effect, kind = connect)]
    Refused,
}

#[derive(Classify)]
struct Timeout;

fn main() {}
