//! `#[async_trait]` expands first; of
//! `async fn put(&self, order: Order) -> Result<(), Stopped<OrderError>>` it makes this.

impl Store for Orders {
    #[retryable(
        name = "orders.put",
        durable,
        key = order.id,
        policy = self.policy,
        with = self.retries
    )]
    fn put<'a, 'async_trait>(
        &'a self,
        order: Order,
    ) -> ::core::pin::Pin<Box<
        dyn ::core::future::Future<Output = Result<(), Stopped<OrderError>>>
            + ::core::marker::Send
            + 'async_trait,
    >>
    where
        'a: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(async move {
            let __self = self;
            let order = order;
            let __ret: Result<(), Stopped<OrderError>> = {
                __self.send(&order, key).await
            };
            #[allow(unreachable_code)]
            __ret
        })
    }
}
