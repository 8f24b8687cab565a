impl Search {
    async fn find(
        &self,
        text: &str,
        deadline: Duration,
    ) -> Result<Hits, Stopped<SearchError>> {
        #[allow(unused_imports)]
        use ::retry_core::__private as __retry;
        #[allow(unused_imports)]
        use __retry::{Guard as _, Known as _, Silent as _, Textual as _, Unknown as _};
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
        let done = loop {
            if let ::core::result::Result::Err(stopped) = run.begin() {
                break ::core::result::Result::Err(stopped);
            }
            let body = ::core::pin::pin(async {
                if let ::core::option::Option::Some(output) = ::core::option::Option::None::<
                    <Result<Hits, Stopped<SearchError>> as __retry::Outcome>::Tried,
                > {
                    return output;
                }
                self.index.find(text).__retry_guard().await
            });
            let body = (&__retry::Return::<Result<Hits, Stopped<SearchError>>>::WRITTEN)
                .body(body);
            match run
                .drive(
                    body,
                    |error| __retry::judged(
                        error,
                        |error| __retry::Classified::classify(error),
                        (&__retry::probe(error)).describe(),
                    ),
                    |_| false,
                )
                .await
            {
                ::core::ops::ControlFlow::Break(done) => break done,
                ::core::ops::ControlFlow::Continue(()) => {}
            }
            run.wait().await;
        };
        __retry::finish::<Result<Hits, Stopped<SearchError>>, _, _, _>(done)
    }
}
