#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn balance(account: &str) -> Result<Money, Stopped<PayError>> {
    let answer = ask(account).await?;
    Ok(answer.balance)
}
