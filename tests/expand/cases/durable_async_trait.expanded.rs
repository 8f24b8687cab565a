impl Store for Orders {
    fn put<'a, 'async_trait>(
        &'a self,
        order: Order,
    ) -> ::core::pin::Pin<
        Box<
            dyn ::core::future::Future<
                Output = Result<(), Stopped<OrderError>>,
            > + ::core::marker::Send + 'async_trait,
        >,
    >
    where
        'a: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(async move {
            let __self = self;
            let order = order;
            let __ret: Result<(), Stopped<OrderError>> = {
                #[allow(unused_imports)]
                use ::retry_core::__private as __retry;
                #[allow(unused_imports)]
                use __retry::Guard as _;
                let spec = &{
                    let name: &'static str = "orders.put";
                    let policy: __retry::Policy = match &(__self.policy) {
                        reference => {
                            let reference: &__retry::Policy = reference;
                            *reference
                        }
                    };
                    __retry::Spec::new(name, policy, __retry::Safety::Keyed).durable()
                };
                let mut run = __retry::DurableRun::new(
                    spec,
                    match &(__self.retries) {
                        reference => {
                            let reference: &__retry::Retrier = reference;
                            ::core::option::Option::Some(
                                ::core::clone::Clone::clone(reference),
                            )
                        }
                    },
                );
                let derived = run.derive_key(&(order.id));
                run.set_arguments(__retry::Given::new().argument("order", &order));
                loop {
                    if let ::core::option::Option::Some(done) = run.begin().await {
                        break done;
                    }
                    let body = ::core::pin::pin(
                        ::core::option::Option::Some(async {
                            let key = derived;
                            if let ::core::option::Option::Some(output) = ::core::option::Option::None::<
                                ::core::result::Result<(), OrderError>,
                            > {
                                return output;
                            }
                            __self.send(&order, key).__retry_guard().await
                        }),
                    );
                    if let ::core::option::Option::Some(done) = run
                        .judged_turn(body, |error| __retry::by_trait(error))
                        .await
                    {
                        break done;
                    }
                }
            };
            #[allow(unreachable_code)] __ret
        })
    }
}
