use retry_core::{Classify, Stopped, retryable};

#[derive(Debug, Classify)]
#[retry(transient)]
struct Busy;

fn parse(text: &str) -> Result<u64, std::num::ParseIntError> {
    text.parse()
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn fetch(text: &str) -> Result<u64, Stopped<Busy>> {
    Ok(parse(text)?)
}

fn main() {}
