#[retryable(idempotent, policy = "gateway", max_attempts = 2, with = config.retries)]
async fn fetch(config: &Config) -> Result<Page, Stopped<FetchError>> {
    get(&config.url).await
}
