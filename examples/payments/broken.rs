//! What not to do.

use retry_core::{Stopped, retryable};
use retry_examples::gateway::Receipt;

use crate::service::{Order, PayError, Payments};

impl Payments {
    /// A key of its own for every attempt: nobody can see that they are one
    /// charge, so each that is booked is a further one.
    #[retryable(
        name = "payments.charge", key = order.id, attempt, with = self.retries,
        max_attempts = 5, deadline = "30s", attempt_timeout = "1s",
    )]
    pub(crate) async fn charge_with_fresh_keys(
        &self,
        order: &Order,
    ) -> Result<Receipt, Stopped<PayError>> {
        let fresh = key.child(&attempt.number().to_string());
        let url = self.gateway.url("/charges", &order.id, attempt.number());
        let response = attempt.send(self.client.post(url).json(order)).key(fresh).await?;
        Ok(response.json().await?)
    }
}
