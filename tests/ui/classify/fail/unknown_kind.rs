use retry_core::Classify;

#[derive(Classify)]
enum PayError {
    #[retry(transient, kind = trottled)]
    Busy,
    #[retry(transient, kind = "server")]
    Server,
}

fn main() {}
