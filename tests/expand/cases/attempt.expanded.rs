async fn fetch(url: &str) -> Result<Page, Stopped<FetchError>> {
    #[allow(unused_imports)]
    use ::retry_core::__private as __retry;
    #[allow(unused_imports)]
    use __retry::Guard as _;
    let mut run = __retry::Run::new(
        {
            static POLICY: __retry::Spec = __retry::Spec::checked(
                ::core::concat!(::core::module_path!(), "::", "fetch"),
                __retry::Policy::new(3, ::core::time::Duration::new(5u64, 0u32)),
                __retry::Safety::Idempotent,
            );
            &POLICY
        },
        ::core::option::Option::None,
    );
    loop {
        if let ::core::result::Result::Err(stopped) = run.begin().await {
            break ::core::result::Result::Err(stopped);
        }
        let current = run.attempt();
        let body = ::core::pin::pin(
            ::core::option::Option::Some(async {
                let attempt = &current;
                if let ::core::option::Option::Some(output) = ::core::option::Option::None::<
                    ::core::result::Result<Page, FetchError>,
                > {
                    return output;
                }
                get(url, attempt.number()).__retry_guard().await
            }),
        );
        if let ::core::option::Option::Some(done) = run.turn(body).await {
            break done;
        }
    }
}
