use retry_core::Classify;

fn is_transient(status: &u16) -> bool {
    *status >= 500
}

#[derive(Classify)]
enum PayError {
    #[retry(with = is_transient)]
    Gateway(u16),
}

fn main() {}
