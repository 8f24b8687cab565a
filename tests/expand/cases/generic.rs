impl<'c, C: Client> Catalog<'c, C> {
    #[retryable(idempotent, max_attempts = 3, deadline = "5s")]
    async fn lines<'a, T>(
        &self,
        of: &'a T,
        (from, to): (usize, usize),
    ) -> Result<impl Iterator<Item = &'a str>, Stopped<C::Error>>
    where
        T: AsRef<str> + ?Sized,
        C::Error: Classify,
    {
        self.client.check(of.as_ref()).await?;
        Ok(of.as_ref().lines().skip(from).take(to - from))
    }
}
