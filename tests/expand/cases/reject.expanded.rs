async fn finished(id: u64) -> Result<Job, Stopped<JobError>> {
    #[allow(unused_imports)]
    use ::retry_core::__private as __retry;
    #[allow(unused_imports)]
    use __retry::Guard as _;
    let mut run = __retry::Run::new(
        {
            static POLICY: __retry::Spec = __retry::Spec::checked(
                ::core::concat!(::core::module_path!(), "::", "finished"),
                __retry::Policy::new(9, ::core::time::Duration::new(300u64, 0u32)),
                __retry::Safety::Idempotent,
            );
            &POLICY
        },
        ::core::option::Option::None,
    );
    loop {
        let body = ::core::pin::pin(
            ::core::option::Option::Some(async {
                if let ::core::option::Option::Some(output) = ::core::option::Option::None::<
                    ::core::result::Result<Job, JobError>,
                > {
                    return output;
                }
                status(id).__retry_guard().await
            }),
        );
        if let ::core::option::Option::Some(done) = run
            .judged_turn(
                body,
                |error| __retry::by_trait(error),
                |value| __retry::rejected(value, |job: &Job| !job.is_done()),
            )
            .await
        {
            break done;
        }
    }
}
