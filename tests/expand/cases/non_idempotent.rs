impl Gateway {
    #[non_idempotent]
    pub async fn charge(&self, amount: u64, (a, b): (u8, u8)) -> Result<Receipt, PayError> {
        self.send(amount, a, b).await
    }
}
