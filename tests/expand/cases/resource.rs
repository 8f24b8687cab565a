impl Payments {
    #[retryable(
        idempotent,
        max_attempts = 3,
        deadline = "5s",
        with = self.retries,
        resource = "payments-gateway",
        on_refusal = defer,
        caller = tenant,
        nested = retry
    )]
    async fn balance(&self, tenant: &str) -> Result<Money, Stopped<PayError>> {
        ask(tenant).await
    }
}
