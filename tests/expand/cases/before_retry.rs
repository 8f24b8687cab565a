impl Session {
    #[retryable(idempotent, before_retry = self.refresh(), max_attempts = 3, deadline = "5s")]
    async fn fetch(&self) -> Result<Page, Stopped<FetchError>> {
        self.get().await
    }
}
