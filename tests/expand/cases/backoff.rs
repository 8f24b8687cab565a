#[retryable(
    idempotent,
    max_attempts = 3,
    deadline = "5s",
    backoff = Backoff::fixed(Duration::from_millis(50)).jitter(Jitter::Full)
)]
async fn ping() -> Result<(), Stopped<PingError>> {
    send().await
}
