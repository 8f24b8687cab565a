#[retryable(name = "orders.place", key = order, deadline = "30 parsecs", max_atempts = 3)]
async fn place(order: u64, mut count: u64) -> Result<u64, Stopped<OrderError>> {
    count += send(order, key).await?;
    Ok(count)
}
