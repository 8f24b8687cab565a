#[retryable(idempotent, attempt, max_attempts = 3, deadline = "5s")]
async fn fetch(url: &str) -> Result<Page, Stopped<FetchError>> {
    get(url, attempt.number()).await
}
