//! What the author wrote, with the tokens to blame.

use proc_macro2::Span;
use quote::format_ident;
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{
    Attribute, Data, DeriveInput, ExprPath, Fields, Generics, Ident, Member, Meta, Path, Token,
    parse_quote,
};

use crate::errors::Errors;
use crate::options;

pub(super) struct Input {
    pub(super) ident: Ident,
    pub(super) generics: Generics,
    pub(super) krate: Path,
    pub(super) shape: Shape,
    /// The variants; of a struct, itself; of a union, none.
    pub(super) cases: Vec<Case>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Enum,
    Struct,
    /// Refused; the reason is reported.
    Union,
}

/// A variant, or the struct.
pub(super) struct Case {
    pub(super) name: Ident,
    pub(super) fields: Fields,
    pub(super) written: Written,
    /// Whether an option could not be read: its absence proves nothing.
    pub(super) broken: bool,
}

/// The options of one case.
#[derive(Default)]
pub(super) struct Written {
    pub(super) classifications: Vec<Classification>,
    pub(super) no_effect: Option<Ident>,
    pub(super) kind: Option<Kind>,
    pub(super) code: Option<Field>,
    pub(super) after: Option<Field>,
}

pub(super) struct Classification {
    pub(super) name: Ident,
    pub(super) source: Source,
}

pub(super) enum Source {
    /// `transient`, `permanent`, `unknown`: a failure of that class.
    Class(&'static str),
    /// `delegate`, `delegate = field`: the failure of a field.
    Delegate(Option<Member>),
    /// `with = path`: the failure that a function makes.
    With(ExprPath),
}

/// An option that names a field.
pub(super) struct Field {
    pub(super) option: Ident,
    pub(super) member: Member,
}

/// A variant of `Kind`.
pub(super) struct Kind(pub(super) Ident);

const OPTIONS: [&str; 9] =
    ["transient", "permanent", "unknown", "delegate", "with", "no_effect", "kind", "code", "after"];

const KINDS: [(&str, &str); 5] = [
    ("timeout", "Timeout"),
    ("throttled", "Throttled"),
    ("connect", "Connect"),
    ("server", "Server"),
    ("other", "Other"),
];

pub(super) fn parse(input: DeriveInput, errors: &mut Errors) -> Input {
    let DeriveInput { attrs, ident, generics, data, .. } = input;
    let mut krate = parse_quote!(::retry_core);
    let (shape, cases) = match data {
        Data::Enum(data) => {
            enum_options(&attrs, &ident, &mut krate, errors);
            let variants = data.variants.into_iter();
            let cases = variants
                .map(|each| case(&each.attrs, each.ident, each.fields, None, errors))
                .collect();
            (Shape::Enum, cases)
        }
        Data::Struct(data) => {
            let itself = case(&attrs, ident.clone(), data.fields, Some(&mut krate), errors);
            (Shape::Struct, vec![itself])
        }
        Data::Union(data) => {
            errors.at(
                data.union_token,
                "a union cannot say which error it holds; derive `Classify` on an enum or a struct",
            );
            (Shape::Union, Vec::new())
        }
    };
    Input { ident, generics, krate, shape, cases }
}

/// Above an enum stands the crate's path, and nothing else.
fn enum_options(attrs: &[Attribute], ident: &Ident, krate: &mut Path, errors: &mut Errors) {
    each_option(attrs, errors, |name, input, _| {
        let text = name.unraw().to_string();
        match &*text {
            "crate" => crate_path(name, input).map(|path| *krate = path),
            known if OPTIONS.contains(&known) => Err(syn::Error::new(
                name.span(),
                format!(
                    "`{known}` goes on a variant; the enum `{ident}` has no classification of its own"
                ),
            )),
            _ => Err(options::unknown(name, &["crate"])),
        }
    });
}

/// `krate` is there for a struct, whose options stand with its classification.
fn case(
    attrs: &[Attribute],
    name: Ident,
    fields: Fields,
    mut krate: Option<&mut Path>,
    errors: &mut Errors,
) -> Case {
    let before = errors.count();
    let mut written = Written::default();
    each_option(attrs, errors, |option, input, errors| {
        match (&*option.unraw().to_string(), krate.as_deref_mut()) {
            ("crate", Some(krate)) => crate_path(option, input).map(|path| *krate = path),
            ("crate", None) => Err(syn::Error::new(
                option.span(),
                "`crate` goes on the enum, above all its variants",
            )),
            (_, krate) => case_option(&mut written, option, input, krate.is_some(), errors),
        }
    });
    for field in &fields {
        for attr in field.attrs.iter().filter(|attr| attr.path().is_ident("retry")) {
            errors.at(
                attr,
                format_args!(
                    "`#[retry]` goes on `{name}`, not on its field; name the field there, \
                     as in `delegate = field`"
                ),
            );
        }
    }
    Case { name, fields, written, broken: errors.count() > before }
}

fn case_option(
    written: &mut Written,
    name: &Ident,
    input: ParseStream<'_>,
    is_struct: bool,
    errors: &mut Errors,
) -> syn::Result<()> {
    let classify = |source| Classification { name: name.clone(), source };
    match &*name.unraw().to_string() {
        "transient" => {
            flag(name, input)?;
            written.classifications.push(classify(Source::Class("transient")));
        }
        "permanent" => {
            flag(name, input)?;
            written.classifications.push(classify(Source::Class("permanent")));
        }
        "unknown" => {
            flag(name, input)?;
            written.classifications.push(classify(Source::Class("unknown")));
        }
        "delegate" => {
            let member =
                if input.peek(Token![=]) { Some(field(name, input)?.member) } else { None };
            written.classifications.push(classify(Source::Delegate(member)));
        }
        "with" => {
            value(name, input, "with = path::to::function")?;
            let path = input.parse().map_err(|error| {
                syn::Error::new(
                    error.span(),
                    "expected the path of a function, as in `with = path::to::function`",
                )
            })?;
            written.classifications.push(classify(Source::With(path)));
        }
        "no_effect" => {
            flag(name, input)?;
            once(&mut written.no_effect, name, name.clone(), errors);
        }
        "kind" => {
            value(name, input, "kind = timeout")?;
            let kind = kind(input)?;
            once(&mut written.kind, name, kind, errors);
        }
        "code" => {
            let field = field(name, input)?;
            once(&mut written.code, name, field, errors);
        }
        "after" => {
            let field = field(name, input)?;
            once(&mut written.after, name, field, errors);
        }
        _ => {
            let krate = is_struct.then_some("crate");
            let known: Vec<_> = OPTIONS.into_iter().chain(krate).collect();
            return Err(options::unknown(name, &known));
        }
    }
    Ok(())
}

fn each_option(
    attrs: &[Attribute],
    errors: &mut Errors,
    mut read: impl FnMut(&Ident, ParseStream<'_>, &mut Errors) -> syn::Result<()>,
) {
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("retry")) {
        let Meta::List(list) = &attr.meta else {
            errors.at(attr, "expected options in parentheses, as in `#[retry(transient)]`");
            continue;
        };
        let result = list.parse_args_with(|input: ParseStream<'_>| {
            options::each(input, errors, &mut read);
            Ok(())
        });
        errors.ok(result);
    }
}

fn once<T>(slot: &mut Option<T>, name: &Ident, value: T, errors: &mut Errors) {
    if slot.replace(value).is_some() {
        errors.at(name, format_args!("`{name}` is already given"));
    }
}

fn flag(name: &Ident, input: ParseStream<'_>) -> syn::Result<()> {
    if input.peek(Token![=]) {
        return Err(input.error(format_args!("`{name}` takes no value")));
    }
    Ok(())
}

fn value(name: &Ident, input: ParseStream<'_>, example: &str) -> syn::Result<()> {
    if !input.peek(Token![=]) {
        return Err(syn::Error::new(
            name.span(),
            format!("`{name}` needs a value, as in `{example}`"),
        ));
    }
    input.parse::<Token![=]>().map(drop)
}

fn field(name: &Ident, input: ParseStream<'_>) -> syn::Result<Field> {
    value(name, input, &format!("{name} = field"))?;
    let member = input.parse().map_err(|error| {
        syn::Error::new(
            error.span(),
            format!("expected the name of a field, as in `{name} = field`, or its position, as in `{name} = 0`"),
        )
    })?;
    Ok(Field { option: name.clone(), member })
}

fn kind(input: ParseStream<'_>) -> syn::Result<Kind> {
    let words = KINDS.map(|(name, _)| name);
    let word = input.call(Ident::parse_any).map_err(|error| {
        let list = words.map(|word| format!("`{word}`")).join(", ");
        syn::Error::new(error.span(), format!("expected a kind, one of {list}"))
    })?;
    match KINDS.iter().find(|(name, _)| word == name) {
        Some((_, variant)) => Ok(Kind(format_ident!("{variant}", span = Span::call_site()))),
        None => Err(options::unknown_word("kind", &word, &words)),
    }
}

fn crate_path(name: &Ident, input: ParseStream<'_>) -> syn::Result<Path> {
    value(name, input, "crate = path::to::retry_core")?;
    input.call(Path::parse_mod_style)
}
