impl<'c, C: Client> Catalog<'c, C> {
    async fn lines<'a, T>(
        &self,
        of: &'a T,
        (from, to): (usize, usize),
    ) -> Result<impl Iterator<Item = &'a str>, Stopped<C::Error>>
    where
        T: AsRef<str> + ?Sized,
        C::Error: Classify,
    {
        #[allow(unused_imports)]
        use ::retry_core::__private as __retry;
        #[allow(unused_imports)]
        use __retry::Guard as _;
        let mut run = __retry::Run::new(
            {
                static POLICY: __retry::Spec = __retry::Spec::checked(
                    ::core::concat!(::core::module_path!(), "::", "lines"),
                    __retry::Policy::new(3, ::core::time::Duration::new(5u64, 0u32)),
                    __retry::Safety::Idempotent,
                );
                &POLICY
            },
            ::core::option::Option::None,
        );
        loop {
            let body = ::core::pin::pin(
                ::core::option::Option::Some(async {
                    if let ::core::option::Option::Some(output) = ::core::option::Option::None::<
                        ::core::result::Result<_, C::Error>,
                    > {
                        return output;
                    }
                    self.client.check(of.as_ref()).__retry_guard().await?;
                    Ok(of.as_ref().lines().skip(from).take(to - from))
                }),
            );
            if let ::core::option::Option::Some(done) = run.turn(body).await {
                break done;
            }
        }
    }
}
