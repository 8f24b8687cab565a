//! Which expressions the compiler can evaluate where the attribute stands.

use std::time::Duration;

use syn::{Expr, ExprCall, ExprLit, ExprMethodCall, ExprPath, Lit};

/// Whether an expression is built only from `Backoff`, `Jitter` and
/// `Duration::from_*` calls on literals. `Backoff::custom` takes a function,
/// which a constant cannot call.
pub(super) fn is_literal(expr: &Expr) -> bool {
    match expr {
        Expr::Lit(_) => true,
        Expr::Group(group) => is_literal(&group.expr),
        Expr::Paren(paren) => is_literal(&paren.expr),
        Expr::Path(path) => is_known_constant(path),
        Expr::Call(call) => is_known_call(call),
        Expr::MethodCall(call) => is_known_method(call),
        _ => false,
    }
}

/// How long a `Duration::from_secs(5)` is, or another call with one whole number.
pub(super) fn known_duration(expr: &Expr) -> Option<Duration> {
    match expr {
        Expr::Group(group) => known_duration(&group.expr),
        Expr::Paren(paren) => known_duration(&paren.expr),
        Expr::Path(path) => match known_type(path) {
            Some(("Duration", name)) if name == "ZERO" => Some(Duration::ZERO),
            _ => None,
        },
        Expr::Call(call) => {
            let Expr::Path(path) = &*call.func else {
                return None;
            };
            let Some(("Duration", name)) = known_type(path) else {
                return None;
            };
            let Some(Expr::Lit(ExprLit { lit: Lit::Int(number), .. })) = call.args.first() else {
                return None;
            };
            let number = number.base10_parse().ok().filter(|_| call.args.len() == 1)?;
            match &*name {
                "from_secs" => Some(Duration::from_secs(number)),
                "from_millis" => Some(Duration::from_millis(number)),
                "from_micros" => Some(Duration::from_micros(number)),
                "from_nanos" => Some(Duration::from_nanos(number)),
                _ => None,
            }
        }
        _ => None,
    }
}

fn is_known_constant(path: &ExprPath) -> bool {
    match known_type(path) {
        Some(("Jitter", name)) => matches!(&*name, "Equal" | "Full" | "None"),
        Some(("Backoff", name)) => name == "DEFAULT",
        Some(("Duration", name)) => {
            matches!(
                &*name,
                "ZERO" | "MAX" | "SECOND" | "MILLISECOND" | "MICROSECOND" | "NANOSECOND"
            )
        }
        _ => false,
    }
}

fn is_known_call(call: &ExprCall) -> bool {
    let Expr::Path(path) = &*call.func else {
        return false;
    };
    let known = match known_type(path) {
        Some(("Backoff", name)) => {
            matches!(&*name, "exponential" | "fixed" | "linear" | "fibonacci")
        }
        Some(("Jitter", name)) => name == "Additive",
        Some(("Duration", name)) => name == "new" || name.starts_with("from_"),
        _ => false,
    };
    known && call.args.iter().all(is_literal)
}

fn is_known_method(call: &ExprMethodCall) -> bool {
    let known = ["factor", "cap", "quantum", "jitter"].iter().any(|name| call.method == name);
    known && is_literal(&call.receiver) && call.args.iter().all(is_literal)
}

/// `Duration::from_secs`, however long the path before it is.
fn known_type(path: &ExprPath) -> Option<(&'static str, String)> {
    let mut segments = path.path.segments.iter().rev();
    let (name, of) = (segments.next()?, segments.next()?);
    let of = ["Backoff", "Jitter", "Duration"].into_iter().find(|known| of.ident == known)?;
    Some((of, name.ident.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_of_one_whole_number_is_known() {
        let second = Some(Duration::from_secs(1));
        for (text, duration) in [
            ("Duration::from_secs(1)", second),
            ("(std::time::Duration::from_millis(1_000))", second),
            ("Duration::from_micros(1_000_000u64)", second),
            ("Duration::from_nanos(1_000_000_000)", second),
            ("Duration::ZERO", Some(Duration::ZERO)),
            ("Duration::from_secs(n)", None),
            ("Duration::from_secs_f64(1.0)", None),
            ("Duration::new(1, 0)", None),
            ("from_secs(1)", None),
            ("self.config.timeout", None),
        ] {
            assert_eq!(known_duration(&syn::parse_str(text).unwrap()), duration, "{text}");
        }
    }

    #[test]
    fn only_calls_on_literals_are_literal() {
        for (text, literal) in [
            ("Backoff::exponential(Duration::from_millis(100))", true),
            (
                "retry_core::Backoff::fixed(std::time::Duration::from_secs(1)).cap(Duration::MAX)",
                true,
            ),
            ("Backoff::DEFAULT.jitter(Jitter::Additive(Duration::from_secs(1)))", true),
            ("Backoff::linear(Duration::ZERO).factor(3, 2).jitter(Jitter::Full)", true),
            ("Backoff::custom(f)", false),
            ("Backoff::fixed(BASE)", false),
            ("Backoff::fixed(self.base)", false),
            ("BACKOFF", false),
            ("Backoff::fixed(Duration::from_secs(n))", false),
            ("Backoff::fixed(Duration::from_secs(1)).cap(cap)", false),
        ] {
            assert_eq!(is_literal(&syn::parse_str(text).unwrap()), literal, "{text}");
        }
    }
}
