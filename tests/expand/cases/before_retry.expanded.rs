impl Session {
    async fn fetch(&self) -> Result<Page, Stopped<FetchError>> {
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
            let body = ::core::pin::pin(
                ::core::option::Option::Some(async {
                    if let ::core::option::Option::Some(output) = ::core::option::Option::None::<
                        ::core::result::Result<Page, FetchError>,
                    > {
                        return output;
                    }
                    self.get().__retry_guard().await
                }),
            );
            if let ::core::option::Option::Some(done) = run.turn(body).await {
                break done;
            }
            {
                let hook = ::core::pin::pin(async {
                    let done: () = (self.refresh()).__retry_guard().await;
                    done
                });
                run.before_retry(hook).await;
            }
        }
    }
}
