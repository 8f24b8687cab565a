impl Payments {
    #[retryable(
        name = "payments.charge",
        durable,
        key = order.id,
        max_attempts = 5,
        deadline = "1h",
        with = self.retries
    )]
    async fn charge(&self, order: &Order, amount: u64) -> Result<Receipt, Stopped<PayError>> {
        self.gateway.charge(order, amount, key).await
    }
}
