#[retryable(at_most_once, max_attempts = 3, deadline = "5s")]
async fn print_label(parcel: &Parcel) -> Result<(), Stopped<PrintError>> {
    printer().print(parcel).await
}
