impl Payments {
    async fn balance(&self, tenant: &str) -> Result<Money, Stopped<PayError>> {
        #[allow(unused_imports)]
        use ::retry_core::__private as __retry;
        #[allow(unused_imports)]
        use __retry::Guard as _;
        const __RETRY_RESOURCE: &'static str = "payments-gateway";
        let mut run = __retry::Run::new(
            {
                static POLICY: __retry::Spec = __retry::Spec::checked(
                        ::core::concat!(::core::module_path!(), "::", "balance"),
                        __retry::Policy::new(3, ::core::time::Duration::new(5u64, 0u32)),
                        __retry::Safety::Idempotent,
                    )
                    .resource(__RETRY_RESOURCE)
                    .on_refusal(__retry::OnRefusal::Defer)
                    .retry_nested();
                &POLICY
            },
            match &(self.retries) {
                reference => {
                    let reference: &__retry::Retrier = reference;
                    ::core::option::Option::Some(::core::clone::Clone::clone(reference))
                }
            },
        );
        run.set_caller(&(tenant));
        loop {
            let body = ::core::pin::pin(
                ::core::option::Option::Some(async {
                    if let ::core::option::Option::Some(output) = ::core::option::Option::None::<
                        ::core::result::Result<Money, PayError>,
                    > {
                        return output;
                    }
                    ask(tenant).__retry_guard().await
                }),
            );
            if let ::core::option::Option::Some(done) = run.turn(body).await {
                break done;
            }
        }
    }
}
