impl Service for Gateway {
    #[retryable(
        idempotent,
        error = FetchError,
        classify = |error: &FetchError| error.class(),
        max_attempts = 3,
        deadline = "5s"
    )]
    async fn call(&self, request: Request) -> Result<Response, tonic::Status> {
        fetch(&request).await
    }
}
