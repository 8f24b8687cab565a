use retry_core::Classify;

#[derive(Classify)]
enum PayError {
    #[retry(transient, after = seconds)]
    Busy { seconds: u32 },
}

fn main() {}
