//! The rules, each a function; what passes them has every choice made.

use syn::ext::IdentExt;
use syn::{ExprPath, Fields, Ident, Index, Member, Type};

use super::parse::{Case, Classification, Input, Kind, Shape, Source};
use crate::errors::Errors;

/// One case that is right.
pub(super) struct Checked<'a> {
    pub(super) case: &'a Case,
    pub(super) source: CheckedSource<'a>,
    pub(super) no_effect: bool,
    pub(super) kind: Option<&'a Kind>,
    pub(super) code: Option<Used<'a>>,
    pub(super) after: Option<Used<'a>>,
}

pub(super) enum CheckedSource<'a> {
    Class(&'static str),
    Delegate(Used<'a>),
    /// A function of the struct.
    AskSelf(&'a ExprPath),
    /// A function of the variant's fields.
    AskFields(&'a ExprPath),
}

/// A field that an option reads.
pub(super) struct Used<'a> {
    pub(super) index: usize,
    pub(super) ty: &'a Type,
}

/// The cases in order, or `None` where a mistake was reported, here or before.
pub(super) fn check<'a>(input: &'a Input, errors: &mut Errors) -> Option<Vec<Checked<'a>>> {
    let checked =
        input.cases.iter().filter_map(|case| check_case(case, input.shape, errors)).collect();
    (errors.count() == 0).then_some(checked)
}

fn check_case<'a>(case: &'a Case, shape: Shape, errors: &mut Errors) -> Option<Checked<'a>> {
    let written = &case.written;
    let code = written.code.as_ref().and_then(|field| find(case, &field.member, errors));
    let after = written.after.as_ref().and_then(|field| find(case, &field.member, errors));
    let classification = one_classification(case, shape, errors)?;
    after_needs_a_retry(case, classification, shape, errors);
    let source = match &classification.source {
        Source::Class(class) => CheckedSource::Class(class),
        Source::Delegate(member) => {
            CheckedSource::Delegate(asked_field(case, classification, member.as_ref(), errors)?)
        }
        Source::With(path) if shape == Shape::Struct => CheckedSource::AskSelf(path),
        Source::With(path) => CheckedSource::AskFields(path),
    };
    Some(Checked {
        case,
        source,
        no_effect: written.no_effect.is_some(),
        kind: written.kind.as_ref(),
        code,
        after,
    })
}

impl Shape {
    /// What a case of it is called.
    fn noun(self) -> &'static str {
        match self {
            Self::Enum => "variant",
            Self::Struct | Self::Union => "struct",
        }
    }
}

/// Exactly one classification. Case E4: two never compile.
fn one_classification<'a>(
    case: &'a Case,
    shape: Shape,
    errors: &mut Errors,
) -> Option<&'a Classification> {
    let name = &case.name;
    let Some((first, others)) = case.written.classifications.split_first() else {
        if !case.broken {
            errors.at(
                name,
                format_args!(
                    "`{name}` needs a classification: `#[retry(transient)]`, \
                     `#[retry(permanent)]`, `#[retry(unknown)]` or `#[retry(delegate)]`"
                ),
            );
        }
        return None;
    };
    for other in others {
        errors.at(
            &other.name,
            format_args!(
                "`{name}` is already `{}`; a {} has one classification",
                first.name,
                shape.noun()
            ),
        );
    }
    Some(first)
}

/// A wait is for the next attempt, and only a transient failure has one.
fn after_needs_a_retry(
    case: &Case,
    classification: &Classification,
    shape: Shape,
    errors: &mut Errors,
) {
    if let (Some(after), Source::Class(class @ ("permanent" | "unknown"))) =
        (&case.written.after, &classification.source)
    {
        errors.at(
            &after.option,
            format_args!(
                "`after` only applies to `transient`, and this {} is `{class}`",
                shape.noun()
            ),
        );
    }
}

/// The field that `delegate` asks: the one it names, or the only one.
fn asked_field<'a>(
    case: &'a Case,
    classification: &'a Classification,
    member: Option<&'a Member>,
    errors: &mut Errors,
) -> Option<Used<'a>> {
    let name = &case.name;
    if let Some(member) = member {
        return find(case, member, errors);
    }
    match case.fields.iter().next() {
        Some(field) if case.fields.len() == 1 => Some(Used { index: 0, ty: &field.ty }),
        None => {
            errors.at(
                &classification.name,
                format_args!("`delegate` needs a field to ask; `{name}` has none"),
            );
            None
        }
        Some(_) => {
            let example = members(&case.fields).next().unwrap_or_default();
            errors.at(
                &classification.name,
                format_args!(
                    "`delegate` needs to know which field to ask; `{name}` has {}: \
                     name one, as in `delegate = {example}`",
                    case.fields.len(),
                ),
            );
            None
        }
    }
}

fn find<'a>(case: &'a Case, member: &'a Member, errors: &mut Errors) -> Option<Used<'a>> {
    let mut fields = case.fields.members().zip(&case.fields).enumerate();
    let found = fields.find(|(_, (other, _))| same(other, member));
    if found.is_none() {
        let name = &case.name;
        let all: Vec<_> = members(&case.fields).map(|field| format!("`{field}`")).collect();
        let has = match &*all {
            [] => "no fields".to_owned(),
            all => all.join(", "),
        };
        errors.at(member, format_args!("no field `{}` on `{name}`; it has {has}", shown(member)));
    }
    found.map(|(index, (_, field))| Used { index, ty: &field.ty })
}

/// `type` and `r#type` are one name.
fn same(one: &Member, other: &Member) -> bool {
    match (one, other) {
        (Member::Named(one), Member::Named(other)) => one.unraw() == other.unraw(),
        (Member::Unnamed(one), Member::Unnamed(other)) => one.index == other.index,
        _ => false,
    }
}

fn members(fields: &Fields) -> impl Iterator<Item = String> {
    fields.members().map(|member| shown(&member))
}

fn shown(member: &Member) -> String {
    match member {
        Member::Named(name) => Ident::to_string(name),
        Member::Unnamed(Index { index, .. }) => index.to_string(),
    }
}
