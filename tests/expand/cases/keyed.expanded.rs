impl Payments {
    /// Charges once.
    pub async fn charge(&self, order: &Order) -> Result<Receipt, Stopped<PayError>> {
        #[allow(unused_imports)]
        use ::retry_core::__private as __retry;
        #[allow(unused_imports)]
        use __retry::Guard as _;
        let mut run = __retry::Run::new(
            {
                static POLICY: __retry::Spec = __retry::Spec::checked(
                    "payments.charge",
                    __retry::Policy::new(5, ::core::time::Duration::new(90u64, 0u32))
                        .attempt_timeout(::core::time::Duration::new(5u64, 0u32))
                        .hint_limit(::core::time::Duration::new(10u64, 0u32)),
                    __retry::Safety::Keyed,
                );
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
        loop {
            let body = ::core::pin::pin(
                ::core::option::Option::Some(async {
                    let key = derived;
                    if let ::core::option::Option::Some(output) = ::core::option::Option::None::<
                        ::core::result::Result<Receipt, PayError>,
                    > {
                        return output;
                    }
                    self.gateway.charge(order, key).__retry_guard().await
                }),
            );
            if let ::core::option::Option::Some(done) = run.turn(body).await {
                break done;
            }
        }
    }
}
