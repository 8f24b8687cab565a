async fn fetch(config: &Config) -> Result<Page, Stopped<FetchError>> {
    #[allow(unused_imports)]
    use ::retry_core::__private as __retry;
    #[allow(unused_imports)]
    use __retry::Guard as _;
    let spec = &{
        let name: &'static str = ::core::concat!(::core::module_path!(), "::", "fetch");
        let policy: __retry::Policy = match &(&config.policy) {
            reference => {
                let reference: &__retry::Policy = reference;
                *reference
            }
        };
        let value: u32 = 2;
        let policy = policy.max_attempts(value);
        __retry::Spec::new(name, policy, __retry::Safety::Idempotent)
    };
    let mut run = __retry::Run::new(spec, ::core::option::Option::None);
    loop {
        let body = ::core::pin::pin(
            ::core::option::Option::Some(async {
                if let ::core::option::Option::Some(output) = ::core::option::Option::None::<
                    ::core::result::Result<Page, FetchError>,
                > {
                    return output;
                }
                get(&config.url).__retry_guard().await
            }),
        );
        if let ::core::option::Option::Some(done) = run.turn(body).await {
            break done;
        }
    }
}
