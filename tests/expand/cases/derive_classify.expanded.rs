const _: () = {
    use ::retry_core as __retry;
    #[automatically_derived]
    #[allow(deprecated)]
    impl __retry::Classify for PayError {
        fn classify(&self) -> __retry::Failure {
            match self {
                Self::Busy { retry_after: field0, .. } => {
                    <Option<
                        Duration,
                    > as __retry::__private::AskedWait>::set(
                        field0,
                        {
                            use __retry::__private::{HoldsOther as _, HoldsStop as _};
                            (&__retry::__private::Field::<Option<Duration>>::OF)
                                .classed(__retry::Failure::transient())
                        }
                            .no_effect()
                            .with_kind(__retry::Kind::Throttled),
                    )
                }
                Self::Declined { .. } => __retry::Failure::permanent(),
                Self::Garbled { .. } => __retry::Failure::unknown(),
                Self::Io { 0: field0, .. } => {
                    <std::io::Error as __retry::Classify>::classify(field0)
                }
            }
        }
        fn text(&self) -> ::core::option::Option<&dyn ::core::fmt::Display> {
            use __retry::__private::{Silent as _, Textual as _};
            (&__retry::__private::probe(self)).describe()?(self)
        }
    }
};
