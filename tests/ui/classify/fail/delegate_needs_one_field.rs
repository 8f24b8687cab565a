use std::io;

use retry_core::Classify;

#[derive(Classify)]
enum PayError {
    #[retry(delegate)]
    Nothing,
    #[retry(delegate)]
    Two { source: io::Error, path: String },
    #[retry(delegate)]
    Positions(io::Error, String),
}

fn main() {}
