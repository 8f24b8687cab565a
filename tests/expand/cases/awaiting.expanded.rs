async fn everything_that_awaits() -> Result<u64, Stopped<PayError>> {
    #[allow(unused_imports)]
    use ::retry_core::__private as __retry;
    #[allow(unused_imports)]
    use __retry::Guard as _;
    let mut run = __retry::Run::new(
        {
            static POLICY: __retry::Spec = __retry::Spec::checked(
                ::core::concat!(::core::module_path!(), "::", "everything_that_awaits"),
                __retry::Policy::new(3, ::core::time::Duration::new(5u64, 0u32)),
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
                    ::core::result::Result<u64, PayError>,
                > {
                    return output;
                }
                let (a, b) = tokio::join!(
                    (first()).__retry_guard(), (second()).__retry_guard()
                );
                let c = timeout(LIMIT, (third()).__retry_guard()).__retry_guard().await?;
                let d = tokio::select! {
                    n = (fourth()).__retry_guard(), if a.is_ok() => n ?, else => fifth()
                    .__retry_guard(). await,
                };
                let e = sixth().__retry_guard().into_future().__retry_guard().await;
                Ok(a? + b? + c + d + e)
            }),
        );
        if let ::core::option::Option::Some(done) = run.turn(body).await {
            break done;
        }
    }
}
