async fn ping() -> Result<(), Stopped<PingError>> {
    #[allow(unused_imports)]
    use ::retry_core::__private as __retry;
    #[allow(unused_imports)]
    use __retry::Guard as _;
    let mut run = __retry::Run::new(
        {
            static POLICY: __retry::Spec = __retry::Spec::checked(
                ::core::concat!(::core::module_path!(), "::", "ping"),
                __retry::Policy::new(3, ::core::time::Duration::new(5u64, 0u32))
                    .backoff(
                        __retry::Spec::checked_backoff(
                            Backoff::fixed(Duration::from_millis(50))
                                .jitter(Jitter::Full),
                        ),
                    ),
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
                    ::core::result::Result<(), PingError>,
                > {
                    return output;
                }
                send().__retry_guard().await
            }),
        );
        if let ::core::option::Option::Some(done) = run.turn(body).await {
            break done;
        }
    }
}
