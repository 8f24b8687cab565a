//! `#[async_trait]` expands first; of
//! `async fn put(&mut self, (id, text): (u32, String)) -> Result<usize, Stopped<StoreError>>`
//! it makes this.

impl Store for Memory {
    #[retryable(name = "store.put", key = id, max_attempts = self.attempts, deadline = "5s")]
    fn put<'life0, 'async_trait>(
        &'life0 mut self,
        __arg1: (u32, String),
    ) -> ::core::pin::Pin<
        Box<
            dyn ::core::future::Future<Output = Result<usize, Stopped<StoreError>>>
                + ::core::marker::Send
                + 'async_trait,
        >,
    >
    where
        'life0: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(async move {
            if let ::core::option::Option::Some(__ret) =
                ::core::option::Option::None::<Result<usize, Stopped<StoreError>>>
            {
                #[allow(unreachable_code)]
                return __ret;
            }
            let mut __self = self;
            let (id, text) = {
                let __arg1 = __arg1;
                __arg1
            };
            let __ret: Result<usize, Stopped<StoreError>> = { __self.insert(id, &text, key).await };
            #[allow(unreachable_code)]
            __ret
        })
    }
}
