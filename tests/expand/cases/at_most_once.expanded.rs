async fn print_label(parcel: &Parcel) -> Result<(), Stopped<PrintError>> {
    #[allow(unused_imports)]
    use ::retry_core::__private as __retry;
    #[allow(unused_imports)]
    use __retry::Guard as _;
    let spec: &'static __retry::Spec = {
        static POLICY: __retry::Spec = __retry::Spec::checked(
            ::core::concat!(::core::module_path!(), "::", "print_label"),
            __retry::Policy::new(3, ::core::time::Duration::new(5u64, 0u32)),
            __retry::Safety::AtMostOnce,
        );
        &POLICY
    };
    let mut run = __retry::Run::new(spec, ::core::option::Option::None);
    let done = loop {
        let body = ::core::pin::pin(
            ::core::option::Option::Some(async {
                if let ::core::option::Option::Some(output) = ::core::option::Option::None::<
                    ::core::result::Result<(), PrintError>,
                > {
                    return output;
                }
                printer().print(parcel).await
            }),
        );
        if let ::core::option::Option::Some(done) = run
            .turn(body, |error| __retry::by_trait(error), __retry::accept)
            .await
        {
            break done;
        }
    };
    done
}
