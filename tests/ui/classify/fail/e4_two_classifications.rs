use retry_core::Classify;

#[derive(Classify)]
enum PayError {
    #[retry(transient, permanent)]
    InOneAttribute,
    #[retry(transient)]
    #[retry(unknown)]
    InTwo,
    #[retry(permanent, permanent)]
    Repeated,
    #[retry(delegate, with = retry_core::Failure::permanent)]
    Asked(std::io::Error),
}

#[derive(Classify)]
#[retry(transient, unknown)]
struct Timeout;

fn main() {}
