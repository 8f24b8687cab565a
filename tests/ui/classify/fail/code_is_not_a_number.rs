use retry_core::Classify;

#[derive(Classify)]
enum PayError {
    #[retry(transient, code = status)]
    Server { status: String },
}

fn main() {}
