async fn balance(account: &str) -> Result<Money, Stopped<PayError>> {
    #[allow(unused_imports)]
    use ::retry_core::__private as __retry;
    #[allow(unused_imports)]
    use __retry::Guard as _;
    let mut run = __retry::Run::new(
        {
            static POLICY: __retry::Spec = __retry::Spec::checked(
                ::core::concat!(::core::module_path!(), "::", "balance"),
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
                    ::core::result::Result<Money, PayError>,
                > {
                    return output;
                }
                let answer = ask(account).__retry_guard().await?;
                Ok(answer.balance)
            }),
        );
        if let ::core::option::Option::Some(done) = run.turn(body).await {
            break done;
        }
    }
}
