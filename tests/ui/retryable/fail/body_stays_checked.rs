use retry_core::{IdempotencyKey, Stopped, retryable};

async fn send(_: u64, _: IdempotencyKey) -> Result<u64, std::io::Error> {
    Ok(1)
}

#[retryable(name = "orders.place", key = order, deadline = 30, max_attempts = 3)]
async fn bad_option(order: u64) -> Result<u64, Stopped<std::io::Error>> {
    let sent = send(order, key).await?;
    let _: String = sent;
    Ok(sent)
}

#[retryable(max_attempts = 3, deadline = "5s")]
async fn no_safety(order: u64) -> Result<u64, Stopped<std::io::Error>> {
    let _: String = order;
    Ok(order)
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
fn not_async(order: u64) -> Result<u64, Stopped<std::io::Error>> {
    if order == 0 {
        return Err(std::io::ErrorKind::NotFound.into());
    }
    let _: String = order;
    Ok(order)
}

#[retryable(idempotent, attempt, max_attempts = 3, deadline = "5s")]
fn awaits(order: u64) -> Result<u32, Stopped<std::io::Error>> {
    let _: String = std::future::ready(order).await;
    Ok(attempt.number())
}

#[retryable(name = "orders.ping", key = order, max_attempts = 3, deadline = "5s")]
async fn no_result(order: u64) {
    let _ = send(order, key).await;
    let _: String = order;
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn mutable(mut order: u64) -> Result<u64, Stopped<std::io::Error>> {
    order += 1;
    let _: String = order;
    Ok(order)
}

#[tracing::instrument(err)]
#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn instrumented(order: String) -> Result<usize, Stopped<std::io::Error>> {
    let _: String = order.len();
    if order.is_empty() {
        return Err(std::io::ErrorKind::NotFound.into());
    }
    Ok(order.len())
}

async fn caller() -> Result<u64, Stopped<std::io::Error>> {
    no_result(0).await;
    instrumented(String::new()).await?;
    let sum = u64::from(awaits(1).await?) + not_async(2)?;
    Ok(sum + bad_option(3).await? + no_safety(4).await? + mutable(5).await?)
}

fn main() {}
