//! What shows in a return type as it is written.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{GenericArgument, PathArguments, Type};

/// The `T` of `Result<T, …>`.
pub(super) fn ok_in(output: &TokenStream) -> Option<Type> {
    arguments_of("Result", &syn::parse2(output.clone()).ok()?)?.into_iter().next()
}

/// The error in a return type as it is written: the `E` of `Result<T, Stopped<E>>`;
/// the whole type where that does not show.
pub(super) fn error_in(output: &TokenStream) -> TokenStream {
    let last = |ty: &Type| match ty {
        Type::Path(path) => match &path.path.segments.last()?.arguments {
            PathArguments::AngleBracketed(arguments) => match arguments.args.last()? {
                GenericArgument::Type(ty) => Some(ty.clone()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    };
    let error = || {
        let written = last(&syn::parse2(output.clone()).ok()?)?;
        Some(last(&written).unwrap_or(written).into_token_stream())
    };
    error().unwrap_or_else(|| output.clone())
}

/// The types in the angle brackets of a path that ends with this name.
pub(super) fn arguments_of(name: &str, ty: &Type) -> Option<Vec<Type>> {
    let ty = match ty {
        Type::Group(group) => &*group.elem,
        ty => ty,
    };
    let Type::Path(path) = ty else {
        return None;
    };
    let last = path.path.segments.last().filter(|last| last.ident == name)?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else {
        return None;
    };
    let types = arguments.args.iter().map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty.clone()),
        _ => None,
    });
    types.collect()
}
