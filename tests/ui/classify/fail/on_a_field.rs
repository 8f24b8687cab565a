use retry_core::Classify;

#[derive(Classify)]
enum PayError {
    Io(#[retry(delegate)] std::io::Error),
}

fn main() {}
