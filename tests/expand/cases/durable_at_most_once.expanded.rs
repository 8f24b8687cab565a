impl Labels {
    async fn print(&self, parcel: Parcel<'_>) -> Result<Label, Status> {
        #[allow(unused_imports)]
        use ::retry_core::__private as __retry;
        #[allow(unused_imports)]
        use __retry::{Guard as _, Known as _, Unknown as _};
        use __retry::{Silent as _, Textual as _};
        const __RETRY_RESOURCE: &'static str = "printers";
        let mut run = __retry::DurableRun::new(
            {
                static POLICY: __retry::Spec = __retry::Spec::checked(
                        "labels.print",
                        __retry::Policy::new(
                            3,
                            ::core::time::Duration::new(3600u64, 0u32),
                        ),
                        __retry::Safety::AtMostOnce,
                    )
                    .resource(__RETRY_RESOURCE)
                    .durable()
                    .attach();
                &POLICY
            },
            match &(self.retries) {
                reference => {
                    let reference: &__retry::Retrier = reference;
                    ::core::option::Option::Some(::core::clone::Clone::clone(reference))
                }
            },
        );
        run.set_caller(&(parcel.tenant));
        run.derive_key(&(parcel.id));
        run.set_arguments(__retry::Given::of(&((parcel.id, parcel.version))));
        let done = loop {
            if let ::core::option::Option::Some(done) = run.begin().await {
                break done;
            }
            let current = run.attempt();
            {
                let body = ::core::pin::pin(
                    ::core::option::Option::Some(
                        (&__retry::ReturnAs::<
                            Result<Label, Status>,
                            PrintError,
                        >::WRITTEN)
                            .body(async {
                                let attempt = &current;
                                if let ::core::option::Option::Some(output) = ::core::option::Option::None::<
                                    <Result<
                                        Label,
                                        Status,
                                    > as __retry::OutcomeAs<PrintError>>::Tried,
                                > {
                                    return output;
                                }
                                self.printer.print(&parcel, attempt.number()).await
                            }),
                    ),
                );
                if let ::core::option::Option::Some(done) = run
                    .judged_turn(
                        body,
                        |error| __retry::judged(
                            error,
                            print_class,
                            (&__retry::probe(error)).describe(),
                        ),
                    )
                    .await
                {
                    break done;
                }
            }
            {
                let hook = ::core::pin::pin(async {
                    let done: () = (self.warm_up()).await;
                    done
                });
                run.before_retry(hook).await;
            }
        };
        __retry::finish_as::<Result<Label, Status>, PrintError, _, _>(done)
    }
}
