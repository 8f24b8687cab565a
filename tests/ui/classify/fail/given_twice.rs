use retry_core::Classify;

#[derive(Classify)]
enum PayError {
    #[retry(transient, kind = server, kind = timeout)]
    Server,
    #[retry(transient, code = 0)]
    #[retry(code = 1)]
    Codes(u16, u16),
    #[retry(transient, no_effect, no_effect)]
    Unreachable,
}

fn main() {}
