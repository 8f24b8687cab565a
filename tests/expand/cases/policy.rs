#[retryable(idempotent, policy = &config.policy, max_attempts = 2)]
async fn fetch(config: &Config) -> Result<Page, Stopped<FetchError>> {
    get(&config.url).await
}
