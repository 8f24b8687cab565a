#[derive(Classify)]
enum PayError {
    #[retry(transient, no_effect, kind = throttled, after = retry_after)]
    Busy { retry_after: Option<Duration> },
    #[retry(permanent)]
    Declined(String),
    #[retry(unknown)]
    Garbled,
    #[retry(delegate)]
    Io(std::io::Error),
}
