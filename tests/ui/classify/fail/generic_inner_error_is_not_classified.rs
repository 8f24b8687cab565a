use retry_core::Classify;

#[derive(Classify)]
enum PayError<E> {
    #[retry(delegate)]
    Inner(E),
}

fn main() {
    PayError::Inner(std::fmt::Error).classify();
}
