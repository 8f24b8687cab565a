//! The mistakes that the attribute itself reports.
use retry_core::{Stopped, retryable};

type Answer = Result<u64, Stopped<std::io::Error>>;

#[retryable(max_attempts = 3, deadline = "5s")]
async fn no_declaration() -> Answer {
    Ok(1)
}

#[retryable(idempotent, at_most_once, max_attempts = 3, deadline = "5s")]
async fn two_declarations() -> Answer {
    Ok(1)
}

#[retryable(idempotent, max_attempts = 3)]
async fn one_bound() -> Answer {
    Ok(1)
}

#[retryable(name = "charge", _key = order, max_attempts = 3, deadline = "5s")]
async fn silenced_key(order: u64) -> Answer {
    Ok(order)
}

#[retryable(key = order, max_attempts = 3, deadline = "5s")]
async fn key_without_name(order: u64) -> Answer {
    println!("{key}");
    Ok(order)
}

#[retryable(name = "", idempotent, max_attempts = 3, deadline = "5s")]
async fn empty_name() -> Answer {
    Ok(1)
}

#[retryable(idempotent, max_attempts = 3, deadline = 30)]
async fn no_unit() -> Answer {
    Ok(1)
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s", hint_limit = "10 minutes")]
async fn no_such_unit() -> Answer {
    Ok(1)
}

#[retryable(idempotent, max_attempts = 0, deadline = "5s")]
async fn no_attempt() -> Answer {
    Ok(1)
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn mutable(mut count: u64) -> Answer {
    count += 1;
    Ok(count)
}

#[retryable(at_most_once, reject = |n| *n == 0, max_attempts = 3, deadline = "5s")]
async fn rejects() -> Answer {
    Ok(1)
}

#[retryable(idempotent, max_retries = 3, max_attemps = 2, deadline = "5s")]
async fn misspelled() -> Answer {
    Ok(1)
}

fn main() {}
