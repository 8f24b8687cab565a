#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn everything_that_awaits() -> Result<u64, Stopped<PayError>> {
    let (a, b) = tokio::join!(first(), second());
    let c = timeout(LIMIT, third()).await?;
    let d = tokio::select! {
        n = fourth(), if a.is_ok() => n?,
        else => fifth().await,
    };
    let e = sixth().into_future().await;
    Ok(a? + b? + c + d + e)
}
