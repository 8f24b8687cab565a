use retry_core::{Policies, Retrier, Stopped, retryable};

struct Service {
    retries: Retrier,
    policies: Policies,
}

#[retryable(idempotent, policy = "gateway")]
async fn without_a_retrier() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

// Nothing is said of a schedule whose policy is not known yet.
#[retryable(idempotent, policy = "gateway", max_attempts = 50, deadline = "1s", key = 7)]
async fn other_mistakes_beside_it() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

#[retryable(idempotent, policy = "", with = service.retries)]
async fn empty(service: &Service) -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

#[retryable(idempotent, policy = "gateway", with = service.policies)]
async fn with_the_policies(service: &Service) -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

#[retryable(idempotent, policy = "gateway", with = service.retries, attempt_timeout = "0s")]
async fn numbers_beside_it_are_judged(service: &Service) -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

// The option that could not be read may have been `with`.
#[retryable(idempotent, policy = "gateway", max_retries = 3)]
async fn unreadable() -> Result<(), Stopped<std::io::Error>> {
    Ok(())
}

fn main() {}
