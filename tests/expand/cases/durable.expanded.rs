impl Payments {
    async fn charge(
        &self,
        order: &Order,
        amount: u64,
    ) -> Result<Receipt, Stopped<PayError>> {
        #[allow(unused_imports)]
        use ::retry_core::__private as __retry;
        #[allow(unused_imports)]
        use __retry::Guard as _;
        let mut run = __retry::DurableRun::new(
            {
                static POLICY: __retry::Spec = __retry::Spec::checked(
                        "payments.charge",
                        __retry::Policy::new(
                            5,
                            ::core::time::Duration::new(3600u64, 0u32),
                        ),
                        __retry::Safety::Keyed,
                    )
                    .durable();
                &POLICY
            },
            match &(self.retries) {
                reference => {
                    let reference: &__retry::Retrier = reference;
                    ::core::option::Option::Some(::core::clone::Clone::clone(reference))
                }
            },
        );
        let derived = run.derive_key(&(order.id));
        run.set_arguments(
            __retry::Given::new().argument("order", &order).argument("amount", &amount),
        );
        loop {
            if let ::core::option::Option::Some(done) = run.begin().await {
                break done;
            }
            let body = ::core::pin::pin(
                ::core::option::Option::Some(async {
                    let key = derived;
                    if let ::core::option::Option::Some(output) = ::core::option::Option::None::<
                        ::core::result::Result<Receipt, PayError>,
                    > {
                        return output;
                    }
                    self.gateway.charge(order, amount, key).__retry_guard().await
                }),
            );
            if let ::core::option::Option::Some(done) = run
                .judged_turn(body, |error| __retry::by_trait(error))
                .await
            {
                break done;
            }
        }
    }
}
