async fn fetch(config: &Config) -> Result<Page, Stopped<FetchError>> {
    #[allow(unused_imports)]
    use ::retry_core::__private as __retry;
    #[allow(unused_imports)]
    use __retry::Guard as _;
    let retrier = match &(config.retries) {
        reference => {
            let reference: &__retry::Retrier = reference;
            ::core::option::Option::Some(::core::clone::Clone::clone(reference))
        }
    };
    let spec = &{
        let name: &'static str = ::core::concat!(::core::module_path!(), "::", "fetch");
        let found = __retry::LookedUp::new(&retrier, "gateway");
        let policy: __retry::Policy = found.policy();
        let value: u32 = 2;
        let policy = policy.max_attempts(value);
        __retry::Spec::new(name, policy, __retry::Safety::Idempotent).looked_up(found)
    };
    let mut run = __retry::Run::new(spec, retrier);
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
