async fn place(order: u64, mut count: u64) -> Result<u64, Stopped<OrderError>> {
    #[allow(unused_imports)]
    use ::retry_core::__private as __retry;
    #[allow(unused_imports)]
    use __retry::Guard as _;
    let mut run = __retry::Run::new(
        {
            static POLICY: __retry::Spec = __retry::Spec::checked(
                "orders.place",
                __retry::Policy::new(1, ::core::time::Duration::MAX),
                __retry::Safety::Keyed,
            );
            &POLICY
        },
        ::core::option::Option::None,
    );
    let derived = run.derive_key(&(order));
    loop {
        let body = ::core::pin::pin(
            ::core::option::Option::Some(async {
                let key = derived;
                if let ::core::option::Option::Some(output) = ::core::option::Option::None::<
                    ::core::result::Result<u64, OrderError>,
                > {
                    return output;
                }
                count += send(order, key).__retry_guard().await?;
                Ok(count)
            }),
        );
        if let ::core::option::Option::Some(done) = run.turn(body).await {
            break done;
        }
    }
}
::core::compile_error! {
    "unknown unit `parsecs`; expected one of ns, us, ms, s, m, h"
}
::core::compile_error! {
    "unknown option `max_atempts`; did you mean `max_attempts`? expected one of `name`, `idempotent`, `key`, `at_most_once`, `max_attempts`, `deadline`, `attempt_timeout`, `backoff`, `hint_limit`, `policy`, `classify`, `error`, `with`, `resource`, `on_refusal`, `caller`, `durable`, `id`, `fingerprint`, `on_in_flight`, `nested`, `attempt`, `before_retry`, `reject`, `crate`"
}
::core::compile_error! {
    "`mut count` would carry its value from one attempt into the next; take `count`, and write `let mut count = count;` in the body"
}
