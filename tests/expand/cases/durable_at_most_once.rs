impl Labels {
    #[retryable(
        name = "labels.print",
        durable,
        at_most_once,
        id = parcel.id,
        fingerprint = (parcel.id, parcel.version),
        on_in_flight = attach,
        attempt,
        classify = print_class,
        before_retry = self.warm_up(),
        error = PrintError,
        caller = parcel.tenant,
        resource = "printers",
        max_attempts = 3,
        deadline = "1h",
        with = self.retries
    )]
    async fn print(&self, parcel: Parcel<'_>) -> Result<Label, Status> {
        self.printer.print(&parcel, attempt.number()).await
    }
}
