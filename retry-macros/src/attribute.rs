//! Attributes of others on the same function.

use syn::Attribute;

/// Whether it is called so, by whatever path.
pub(crate) fn is_named(attr: &Attribute, name: &str) -> bool {
    attr.path().segments.last().is_some_and(|last| last.ident == name)
}
