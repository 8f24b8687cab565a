//! Several mistakes, one compile.

use proc_macro2::TokenStream;
use quote::ToTokens;

/// The mistakes found so far.
///
/// Made only by [`Errors::collect`], which turns them into `compile_error!`s:
/// none can be forgotten, and what was expanded stands beside them.
pub(crate) struct Errors(Option<syn::Error>);

impl Errors {
    /// Runs an expansion and appends the mistakes that it reported.
    pub(crate) fn collect(expand: impl FnOnce(&mut Self) -> TokenStream) -> TokenStream {
        let mut errors = Self(None);
        let mut tokens = expand(&mut errors);
        if let Some(error) = errors.0 {
            tokens.extend(error.into_compile_error());
        }
        tokens
    }

    /// Reports a mistake.
    pub(crate) fn push(&mut self, error: syn::Error) {
        match &mut self.0 {
            Some(first) => first.combine(error),
            none => *none = Some(error),
        }
    }

    /// Reports a mistake under the tokens to blame.
    pub(crate) fn at(&mut self, tokens: impl ToTokens, message: impl std::fmt::Display) {
        self.push(syn::Error::new_spanned(tokens, message));
    }

    /// The value, or `None` and the mistake reported.
    pub(crate) fn ok<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.push(error)).ok()
    }

    /// How many mistakes were reported: a rule that cannot judge after an
    /// earlier mistake compares this before and after.
    pub(crate) fn count(&self) -> usize {
        self.0.iter().flatten().count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::quote;

    #[test]
    fn every_mistake_is_reported_beside_the_expansion() {
        let tokens = Errors::collect(|errors| {
            errors.at(quote!(a), "first");
            assert_eq!(errors.ok(syn::parse_str::<syn::Ident>("1 2")), None);
            assert_eq!(errors.count(), 2);
            quote!(
                struct Kept;
            )
        });
        let text = tokens.to_string();
        assert!(text.starts_with("struct Kept ;"), "{text}");
        assert_eq!(text.matches("compile_error").count(), 2, "{text}");
    }

    #[test]
    fn without_a_mistake_the_expansion_is_all() {
        assert_eq!(
            Errors::collect(|_| quote!(
                struct Kept;
            ))
            .to_string(),
            "struct Kept ;"
        );
    }
}
