impl Search {
    async fn find(
        &self,
        text: &str,
        deadline: Duration,
    ) -> Result<Hits, Stopped<SearchError>> {
        #[allow(unused_imports)]
        use ::retry_core::__private as __retry;
        #[allow(unused_imports)]
        use __retry::Guard as _;
        let spec = &{
            let name: &'static str = NAME;
            let policy: __retry::Policy = __retry::Policy::new(
                1,
                ::core::time::Duration::MAX,
            );
            let value: u32 = self.config.attempts;
            let policy = policy.max_attempts(value);
            let value: ::core::time::Duration = deadline;
            let policy = policy.deadline(value);
            let value: ::core::time::Duration = ::core::time::Duration::new(
                0u64,
                250000000u32,
            );
            let policy = policy.attempt_timeout(value);
            let value: __retry::Backoff = self.config.backoff;
            let policy = policy.backoff(value);
            __retry::Spec::new(name, policy, __retry::Safety::Idempotent)
        };
        let mut run = __retry::Run::new(spec, ::core::option::Option::None);
        loop {
            let body = ::core::pin::pin(
                ::core::option::Option::Some(async {
                    if let ::core::option::Option::Some(output) = ::core::option::Option::None::<
                        ::core::result::Result<Hits, SearchError>,
                    > {
                        return output;
                    }
                    self.index.find(text).__retry_guard().await
                }),
            );
            if let ::core::option::Option::Some(done) = run.turn(body).await {
                break done;
            }
        }
    }
}
