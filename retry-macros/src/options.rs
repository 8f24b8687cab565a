//! The options of an attribute: `name`, or `name = value`, between commas.

use proc_macro2::TokenTree;
use syn::ext::IdentExt;
use syn::parse::{End, ParseStream};
use syn::{Ident, Token};

use crate::errors::Errors;

/// Reads every option of a list.
///
/// `read` is called with the name and with the stream after it, and reads the
/// rest of its option. A mistake is reported, and reading goes on at the next
/// option: one wrong option does not hide another.
pub(crate) fn each(
    input: ParseStream<'_>,
    errors: &mut Errors,
    mut read: impl FnMut(&Ident, ParseStream<'_>, &mut Errors) -> syn::Result<()>,
) {
    while !input.is_empty() {
        let place = input.span();
        let name = input.call(Ident::parse_any).map_err(|_| {
            syn::Error::new(place, "expected an option: a name, or a name with `= value` behind it")
        });
        let result = name.and_then(|name| {
            read(&name, input, errors)?;
            if input.is_empty() { Ok(()) } else { input.parse::<Token![,]>().map(drop) }
        });
        if errors.ok(result).is_none() {
            skip(input);
        }
    }
}

/// Skips to the next comma behind which an option begins.
fn skip(input: ParseStream<'_>) {
    while !input.is_empty() {
        let option_follows = input.peek2(Ident::peek_any)
            && (input.peek3(Token![=]) || input.peek3(Token![,]) || input.peek3(End));
        if input.peek(Token![,]) && (option_follows || input.peek2(End)) {
            // The comma is there; nothing can fail.
            let _ = input.parse::<Token![,]>();
            return;
        }
        let _ = input.parse::<TokenTree>();
    }
}

/// The mistake of a name that no option has.
///
/// ``unknown option `max_attemps`; did you mean `max_attempts`? expected one of …``
pub(crate) fn unknown(name: &Ident, known: &[&str]) -> syn::Error {
    unknown_word("option", name, known)
}

/// The same for a word that is not an option: `what` says what it is.
pub(crate) fn unknown_word(what: &str, word: &Ident, known: &[&str]) -> syn::Error {
    syn::Error::new(word.span(), unknown_text(what, &word.unraw().to_string(), known))
}

fn unknown_text(what: &str, word: &str, known: &[&str]) -> String {
    let suggestion =
        nearest(word, known).map(|near| format!(" did you mean `{near}`?")).unwrap_or_default();
    let list: Vec<_> = known.iter().map(|name| format!("`{name}`")).collect();
    let expected = match &*list {
        [only] => format!("expected {only}"),
        list => format!("expected one of {}", list.join(", ")),
    };
    format!("unknown {what} `{word}`;{suggestion} {expected}")
}

/// The known word that was probably meant: at most a third of the letters
/// differ, as in rustc's own suggestions.
fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let limit = word.chars().count().max(3) / 3;
    known
        .iter()
        .map(|&candidate| (distance(word, candidate), candidate))
        .filter(|&(distance, _)| distance <= limit)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// How many letters must be inserted, removed, replaced, or swapped with their
/// neighbour to get from one word to the other (optimal string alignment).
fn distance(from: &str, to: &str) -> usize {
    let (from, to): (Vec<_>, Vec<_>) = (from.chars().collect(), to.chars().collect());
    let mut before = vec![0; to.len() + 1];
    let mut above: Vec<_> = (0..=to.len()).collect();
    for i in 0..from.len() {
        let mut row = vec![i + 1];
        for j in 0..to.len() {
            let replaced = above[j] + usize::from(from[i] != to[j]);
            let mut least = replaced.min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && from[i] == to[j - 1] && from[i - 1] == to[j] {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proc_macro2::TokenStream;
    use syn::parse::Parser;

    #[test]
    fn the_text_suggests_the_near_name_and_lists_all() {
        let known = ["max_attempts", "deadline"];
        assert_eq!(
            unknown_text("option", "max_attemps", &known),
            "unknown option `max_attemps`; did you mean `max_attempts`? \
             expected one of `max_attempts`, `deadline`"
        );
        assert_eq!(
            unknown_text("option", "retries", &known),
            "unknown option `retries`; expected one of `max_attempts`, `deadline`"
        );
        assert_eq!(
            unknown_text("option", "krate", &["crate"]),
            "unknown option `krate`; did you mean `crate`? expected `crate`"
        );
    }

    #[test]
    fn a_swap_is_one_mistake() {
        for (from, to, expected) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("deadline", "deadline", 0),
            ("dedaline", "deadline", 1),
            ("transiant", "transient", 1),
            ("key", "keys", 1),
            ("délai", "delai", 1),
        ] {
            assert_eq!(distance(from, to), expected, "{from} {to}");
        }
    }

    #[test]
    fn a_far_name_is_not_suggested() {
        assert_eq!(nearest("with", &["name", "key"]), None);
        assert_eq!(nearest("kye", &["name", "key"]), Some("key"));
    }

    /// The options read, and how many mistakes were reported.
    fn read(tokens: &str) -> (Vec<String>, usize) {
        let mut names = Vec::new();
        let mut mistakes = 0;
        let _ = Errors::collect(|errors| {
            let list = |input: ParseStream<'_>| {
                each(input, errors, |name, input, _| {
                    if name == "bad" {
                        return Err(syn::Error::new(name.span(), "bad"));
                    }
                    if input.peek(Token![=]) {
                        input.parse::<Token![=]>()?;
                        input.parse::<syn::Expr>()?;
                    }
                    names.push(name.to_string());
                    Ok(())
                });
                Ok(())
            };
            list.parse_str(tokens).unwrap();
            mistakes = errors.count();
            TokenStream::new()
        });
        (names, mistakes)
    }

    #[test]
    fn one_wrong_option_does_not_hide_another() {
        for (tokens, names, mistakes) in [
            ("", &[][..], 0),
            ("a", &["a"], 0),
            ("a, b = 1,", &["a", "b"], 0),
            ("bad, a", &["a"], 1),
            ("bad = |x, y| x + y, a = 2, b", &["a", "b"], 1),
            ("bad = f(1, c), a", &["a"], 1),
            ("a b, c", &["a", "c"], 1),
            ("30, a", &["a"], 1),
            ("a = , b", &["b"], 1),
            (",, a", &["a"], 1),
            ("bad,", &[], 1),
        ] {
            let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(read(tokens), (names, mistakes), "{tokens}");
        }
    }
}
