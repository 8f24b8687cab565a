impl Payments {
    /// Charges once.
    #[retryable(
        name = "payments.charge",
        key = order.id,
        max_attempts = 5,
        deadline = "1m 30s",
        attempt_timeout = "5s",
        hint_limit = "10s",
        with = self.retries
    )]
    pub async fn charge(&self, order: &Order) -> Result<Receipt, Stopped<PayError>> {
        self.gateway.charge(order, key).await
    }
}
