use retry_core::{Class, Stopped, retryable};

struct Busy;
struct Full;

fn is_transient(_: &Busy) -> bool {
    true
}

fn of_another(_: &Full) -> Class {
    Class::Transient
}

#[retryable(idempotent, classify = is_transient, max_attempts = 3, deadline = "5s")]
async fn no_failure() -> Result<(), Stopped<Busy>> {
    Err(Busy)
}

#[retryable(idempotent, classify = |_| 3, max_attempts = 3, deadline = "5s")]
async fn closure() -> Result<(), Stopped<Busy>> {
    Err(Busy)
}

#[retryable(idempotent, classify = of_another, max_attempts = 3, deadline = "5s")]
async fn another() -> Result<(), Stopped<Busy>> {
    Err(Busy)
}

#[retryable(idempotent, classify = missing, max_attempts = 3, deadline = "5s")]
async fn nowhere() -> Result<(), Stopped<Busy>> {
    Err(Busy)
}

fn main() {}
