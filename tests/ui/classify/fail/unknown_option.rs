use retry_core::Classify;

#[derive(Classify)]
#[retry(krate = retry_core)]
enum PayError {
    #[retry(permenant)]
    Declined,
    #[retry(transient, max_attempts = 3, no_efect)]
    Busy,
    #[retry(transient, crate = retry_core)]
    Unreachable,
}

#[derive(Classify)]
#[retry(transient)]
enum SearchError {
    #[retry(unknown)]
    Garbled,
}

#[derive(Classify)]
#[retry(transient, cod = 0)]
struct Timeout(u16);

fn main() {}
