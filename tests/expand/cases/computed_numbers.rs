impl Search {
    #[retryable(
        idempotent,
        name = NAME,
        max_attempts = self.config.attempts,
        deadline = deadline,
        attempt_timeout = "250ms",
        backoff = self.config.backoff
    )]
    async fn find(&self, text: &str, deadline: Duration) -> Result<Hits, Stopped<SearchError>> {
        self.index.find(text).await
    }
}
