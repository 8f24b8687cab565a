impl Service for Gateway {
    async fn call(&self, request: Request) -> Result<Response, tonic::Status> {
        #[allow(unused_imports)]
        use ::retry_core::__private as __retry;
        #[allow(unused_imports)]
        use __retry::{Guard as _, Known as _, Unknown as _};
        use __retry::{Silent as _, Textual as _};
        let mut run = __retry::Run::new(
            {
                static POLICY: __retry::Spec = __retry::Spec::checked(
                    ::core::concat!(::core::module_path!(), "::", "call"),
                    __retry::Policy::new(3, ::core::time::Duration::new(5u64, 0u32)),
                    __retry::Safety::Idempotent,
                );
                &POLICY
            },
            ::core::option::Option::None,
        );
        let done = loop {
            let body = ::core::pin::pin(
                ::core::option::Option::Some(
                    (&__retry::ReturnAs::<
                        Result<Response, tonic::Status>,
                        FetchError,
                    >::WRITTEN)
                        .body(async {
                            if let ::core::option::Option::Some(output) = ::core::option::Option::None::<
                                <Result<
                                    Response,
                                    tonic::Status,
                                > as __retry::OutcomeAs<FetchError>>::Tried,
                            > {
                                return output;
                            }
                            fetch(&request).__retry_guard().await
                        }),
                ),
            );
            if let ::core::option::Option::Some(done) = run
                .judged_turn(
                    body,
                    |error| __retry::judged(
                        error,
                        |error: &FetchError| error.class(),
                        (&__retry::probe(error)).describe(),
                    ),
                    __retry::accept,
                )
                .await
            {
                break done;
            }
        };
        __retry::finish_as::<Result<Response, tonic::Status>, FetchError, _, _>(done)
    }
}
