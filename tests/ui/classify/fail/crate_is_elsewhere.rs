#[derive(retry_core::Classify)]
#[retry(crate = ::retries)]
enum PayError {
    #[retry(transient, kind = server, code = 0)]
    Server(u16),
    #[retry(permanent)]
    Declined,
}

fn main() {}
