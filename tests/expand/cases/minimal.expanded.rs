async fn balance(account: &str) -> Result<Money, Stopped<PayError>> {
    #[allow(unused_imports)]
    use ::retry_core::__private as __retry;
    #[allow(unused_imports)]
    use __retry::{Guard as _, Known as _, Silent as _, Textual as _, Unknown as _};
    let spec: &'static __retry::Spec = {
        static POLICY: __retry::Spec = __retry::Spec::checked(
            ::core::concat!(::core::module_path!(), "::", "balance"),
            __retry::Policy::new(3, ::core::time::Duration::new(5u64, 0u32)),
            __retry::Safety::Idempotent,
        );
        &POLICY
    };
    let mut run = __retry::Run::new(spec, ::core::option::Option::None);
    let done = loop {
        if let ::core::result::Result::Err(stopped) = run.begin() {
            break ::core::result::Result::Err(stopped);
        }
        let body = ::core::pin::pin(async {
            if let ::core::option::Option::Some(output) = ::core::option::Option::None::<
                <Result<Money, Stopped<PayError>> as __retry::Outcome>::Tried,
            > {
                return output;
            }
            let answer = ask(account).__retry_guard().await?;
            Ok(answer.balance)
        });
        let body = (&__retry::Return::<Result<Money, Stopped<PayError>>>::WRITTEN)
            .body(body);
        match run
            .drive(
                body,
                |error| __retry::judged(
                    error,
                    |error| __retry::Classified::classify(error),
                    (&__retry::probe(error)).describe(),
                ),
                |_| false,
            )
            .await
        {
            ::core::ops::ControlFlow::Break(done) => break done,
            ::core::ops::ControlFlow::Continue(()) => {}
        }
        run.wait().await;
    };
    __retry::finish::<Result<Money, Stopped<PayError>>, _, _, _>(done)
}
