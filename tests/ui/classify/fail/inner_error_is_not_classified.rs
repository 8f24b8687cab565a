use retry_core::Classify;

#[derive(Classify)]
enum PayError {
    #[retry(delegate)]
    Format(std::fmt::Error),
    #[retry(delegate = source)]
    Named { source: std::fmt::Error, line: u32 },
}

#[derive(Classify)]
#[retry(delegate)]
struct Wrapper<T>(Vec<T>);

fn main() {}
