use retry_core::Classify;

#[derive(Classify)]
enum PayError {
    #[retry(transient = true)]
    Flag,
    #[retry(transient, kind)]
    Kind,
    #[retry(transient, code)]
    Code(u16),
    #[retry(transient, code = "0")]
    Text(u16),
    #[retry(with)]
    With,
    #[retry(with = "rules::judge")]
    Quoted,
    #[retry(with = |_| Failure::permanent())]
    Closure(u16),
    #[retry(transient code = 0)]
    NoComma(u16),
    #[retry = "transient"]
    NoList,
}

fn main() {}
