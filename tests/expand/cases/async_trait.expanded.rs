impl Store for Memory {
    fn put<'life0, 'async_trait>(
        &'life0 mut self,
        __arg1: (u32, String),
    ) -> ::core::pin::Pin<
        Box<
            dyn ::core::future::Future<
                Output = Result<usize, Stopped<StoreError>>,
            > + ::core::marker::Send + 'async_trait,
        >,
    >
    where
        'life0: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(async move {
            if let ::core::option::Option::Some(__ret) = ::core::option::Option::None::<
                Result<usize, Stopped<StoreError>>,
            > {
                #[allow(unreachable_code)] return __ret;
            }
            let mut __self = self;
            let (id, text) = {
                let __arg1 = __arg1;
                __arg1
            };
            let __ret: Result<usize, Stopped<StoreError>> = {
                #[allow(unused_imports)]
                use ::retry_core::__private as __retry;
                #[allow(unused_imports)]
                use __retry::Guard as _;
                let spec = &{
                    let name: &'static str = "store.put";
                    let policy: __retry::Policy = __retry::Policy::new(
                        1,
                        ::core::time::Duration::MAX,
                    );
                    let value: u32 = __self.attempts;
                    let policy = policy.max_attempts(value);
                    let value: ::core::time::Duration = ::core::time::Duration::new(
                        5u64,
                        0u32,
                    );
                    let policy = policy.deadline(value);
                    __retry::Spec::new(name, policy, __retry::Safety::Keyed)
                };
                let mut run = __retry::Run::new(spec, ::core::option::Option::None);
                let derived = run.derive_key(&(id));
                loop {
                    let body = ::core::pin::pin(
                        ::core::option::Option::Some(async {
                            let key = derived;
                            if let ::core::option::Option::Some(output) = ::core::option::Option::None::<
                                ::core::result::Result<usize, StoreError>,
                            > {
                                return output;
                            }
                            __self.insert(id, &text, key).__retry_guard().await
                        }),
                    );
                    if let ::core::option::Option::Some(done) = run.turn(body).await {
                        break done;
                    }
                }
            };
            #[allow(unreachable_code)] __ret
        })
    }
}
