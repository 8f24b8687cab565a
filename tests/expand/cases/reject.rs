#[retryable(idempotent, reject = |job: &Job| !job.is_done(), max_attempts = 9, deadline = "5m")]
async fn finished(id: u64) -> Result<Job, Stopped<JobError>> {
    status(id).await
}
