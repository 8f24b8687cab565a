//! The impl; no decisions.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{ExprPath, Generics, Ident, Member, Type, WhereClause};

use super::check::{Checked, CheckedSource, Used};
use super::parse::{Input, Shape};
use crate::mentions::mentions;

/// Input:
/// ```text
/// enum E {
///     #[retry(transient, kind = server, code = status)]
///     Server { status: u16 },
///     #[retry(delegate)]
///     Io(std::io::Error),
/// }
/// ```
///
/// Output:
/// ```text
/// const _: () = {
///     use ::retry_core as __retry;
///     #[automatically_derived]
///     impl __retry::Classify for E {
///         fn classify(&self) -> __retry::Failure {
///             match self {
///                 Self::Server { status: field0, .. } => <u16 as __retry::__private::FailureCode>::set(
///                     field0,
///                     __retry::Failure::transient().with_kind(__retry::Kind::Server),
///                 ),
///                 Self::Io { 0: field0, .. } => {
///                     <std::io::Error as __retry::Classify>::classify(field0)
///                 }
///             }
///         }
///         fn text(&self) -> Option<&dyn Display> {
///             use __retry::__private::{Silent as _, Textual as _};
///             (&__retry::__private::probe(self)).describe()?(self)
///         }
///     }
/// };
/// ```
///
/// The crate is named once, so that where it is missing one error says so.
pub(super) fn emit(input: &Input, checked: Option<Vec<Checked<'_>>>) -> TokenStream {
    let Input { ident, generics, krate, shape, .. } = input;
    let (impl_generics, type_generics, where_clause) = generics.split_for_impl();
    let (bounds, answer) = match &checked {
        None => (TokenStream::new(), quote!(__retry::Failure::unknown())),
        Some(cases) => (
            delegate_bounds(generics, where_clause, cases),
            match shape {
                Shape::Enum => match_variants(cases),
                Shape::Struct | Shape::Union => cases.iter().map(take_apart).collect(),
            },
        ),
    };
    let bounds = if bounds.is_empty() { where_clause.to_token_stream() } else { bounds };
    let name_crate = quote_spanned!(call_site_at(krate)=> use #krate as __retry;);
    quote! {
        const _: () = {
            #name_crate
            #[automatically_derived]
            #[allow(deprecated)]
            impl #impl_generics __retry::Classify for #ident #type_generics #bounds {
                fn classify(&self) -> __retry::Failure {
                    #answer
                }

                fn text(&self) -> ::core::option::Option<&dyn ::core::fmt::Display> {
                    use __retry::__private::{Silent as _, Textual as _};
                    (&__retry::__private::probe(self)).describe()?(self)
                }
            }
        };
    }
}

/// A field that is asked must have an answer; only where its type depends on a
/// parameter is that for the caller to see to.
fn delegate_bounds(
    generics: &Generics,
    written: Option<&WhereClause>,
    cases: &[Checked<'_>],
) -> TokenStream {
    let parameters: Vec<&Ident> = generics.type_params().map(|param| &param.ident).collect();
    let types: Vec<_> = cases
        .iter()
        .filter_map(|case| match &case.source {
            CheckedSource::Delegate(used) => Some(used.ty),
            _ => None,
        })
        .filter(|ty| parameters.iter().any(|name| mentions(ty.to_token_stream(), *name)))
        .collect();
    if types.is_empty() {
        return TokenStream::new();
    }
    let written = written.map(|clause| clause.predicates.iter()).into_iter().flatten();
    quote!(where #(#written,)* #(#types: __retry::Classify,)*)
}

fn match_variants(cases: &[Checked<'_>]) -> TokenStream {
    if cases.is_empty() {
        // A reference to an empty enum is not itself seen as empty.
        return quote!(match *self {});
    }
    let arms = cases.iter().map(|checked| {
        let name = &checked.case.name;
        let bindings = bindings(checked);
        let failure = failure(checked);
        quote!(Self::#name { #(#bindings,)* .. } => #failure,)
    });
    quote!(match self { #(#arms)* })
}

fn take_apart(checked: &Checked<'_>) -> TokenStream {
    let bindings = bindings(checked);
    let failure = failure(checked);
    if bindings.is_empty() {
        return failure;
    }
    quote! {
        let Self { #(#bindings,)* .. } = self;
        #failure
    }
}

/// `member: local` for each field that is read.
fn bindings(checked: &Checked<'_>) -> Vec<TokenStream> {
    let is_read = |index: usize| {
        let used = |used: &Option<Used<'_>>| used.as_ref().is_some_and(|used| used.index == index);
        let asked = match &checked.source {
            CheckedSource::Class(_) | CheckedSource::AskSelf(_) => false,
            CheckedSource::Delegate(used) => used.index == index,
            CheckedSource::AskFields(_) => true,
        };
        asked || used(&checked.code) || used(&checked.after)
    };
    let members = checked.case.fields.members().enumerate();
    members
        .filter(|(index, _)| is_read(*index))
        .map(|(index, member): (usize, Member)| {
            let local = local(index, Span::call_site());
            quote!(#member: #local)
        })
        .collect()
}

fn failure(checked: &Checked<'_>) -> TokenStream {
    let mut failure = match &checked.source {
        CheckedSource::Class(class) => {
            let class = format_ident!("{class}");
            let failure = quote!(__retry::Failure::#class());
            if class == "transient" { overruling(checked, failure) } else { failure }
        }
        CheckedSource::Delegate(used) => {
            let (ty, field) = typed(used);
            quote!(<#ty as __retry::Classify>::classify(#field))
        }
        CheckedSource::AskSelf(path) => into_failure(path, &quote!(self)),
        CheckedSource::AskFields(path) => {
            let fields = (0..checked.case.fields.len()).map(|index| local(index, path.span()));
            into_failure(path, &quote!(#(#fields),*))
        }
    };
    if checked.no_effect {
        failure.extend(quote!(.no_effect()));
    }
    if let Some(kind) = checked.kind {
        let kind = &kind.0;
        failure.extend(quote!(.with_kind(__retry::Kind::#kind)));
    }
    if let Some(used) = &checked.code {
        let (ty, field) = typed(used);
        failure = quote!(<#ty as __retry::__private::FailureCode>::set(#field, #failure));
    }
    if let Some(used) = &checked.after {
        let (ty, field) = typed(used);
        failure = quote!(<#ty as __retry::__private::AskedWait>::set(#field, #failure));
    }
    failure
}

/// A nested stop that the variant holds is overruled. Only the compiler knows
/// what a field's type is.
fn overruling(checked: &Checked<'_>, failure: TokenStream) -> TokenStream {
    checked.case.fields.iter().fold(failure, |failure, field| {
        let ty = &field.ty;
        quote! {{
            use __retry::__private::{HoldsOther as _, HoldsStop as _};
            (&__retry::__private::Field::<#ty>::OF).classed(#failure)
        }}
    })
}

fn into_failure(path: &ExprPath, arguments: &TokenStream) -> TokenStream {
    quote_spanned!(call_site_at(path)=> ::core::convert::Into::<__retry::Failure>::into(#path(#arguments)))
}

/// A field's type and its local. The author's own type tokens carry the bound,
/// so that an error underlines the type where it is declared.
fn typed<'a>(used: &Used<'a>) -> (&'a Type, Ident) {
    (used.ty, local(used.index, Span::call_site()))
}

/// Our tokens, shown where the author's stand.
fn call_site_at(tokens: &impl Spanned) -> Span {
    Span::call_site().located_at(tokens.span())
}

/// No field and no function of the author can be called like it.
fn local(index: usize, blame: Span) -> Ident {
    format_ident!("field{index}", span = Span::mixed_site().located_at(blame))
}
