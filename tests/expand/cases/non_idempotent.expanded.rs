impl Gateway {
    pub fn charge(
        &self,
        amount: u64,
        argument2: (u8, u8),
    ) -> ::retry_core::NonIdempotent<
        impl ::core::future::Future<Output = Result<Receipt, PayError>>,
    > {
        ::retry_core::NonIdempotent::new(async move {
            #[allow(clippy::shadow_same)]
            let amount = amount;
            let argument2 = argument2;
            let (a, b) = argument2;
            if let ::core::option::Option::Some(output) = ::core::option::Option::None::<
                Result<Receipt, PayError>,
            > {
                return output;
            }
            self.send(amount, a, b).await
        })
    }
}
