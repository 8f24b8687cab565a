//! The guard before every `.await`: a call that must not run twice does not
//! compile in a retried body. The body is never parsed.

use proc_macro2::{Delimiter, Group, Ident, Punct, Spacing, Span, TokenStream, TokenTree};
use quote::{quote, quote_spanned};

/// Macros that await what they are given.
const JOINS: [&str; 2] = ["join", "try_join"];
/// Functions that await their second argument.
const TIMEOUTS: [&str; 2] = ["timeout", "timeout_at"];

/// Input:
/// ```text
/// let receipt = charge(amount).await?;
/// tokio::join!(first(), second());
/// timeout(limit, third()).await
/// ```
///
/// Output:
/// ```text
/// let receipt = charge(amount).__retry_guard().await?;
/// tokio::join!((first()).__retry_guard(), (second()).__retry_guard());
/// timeout(limit, (third()).__retry_guard()).__retry_guard().await
/// ```
pub(super) fn guard(tokens: TokenStream) -> TokenStream {
    let tokens: Vec<_> = tokens.into_iter().collect();
    let mut output = TokenStream::new();
    for (index, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Punct(dot) if dot.as_char() == '.' && awaits(&tokens[index + 1..]) => {
                let behind = index.checked_sub(1).map_or(dot.span(), |last| tokens[last].span());
                output.extend(call(tokens[index + 1].span(), behind));
                output.extend([token.clone()]);
            }
            TokenTree::Group(group) => {
                let inner = match awaiting(&tokens[..index], group) {
                    Awaiting::Nothing => guard(group.stream()),
                    Awaiting::All => guard_all(group.stream()),
                    Awaiting::Second => guard_second(group.stream()),
                    Awaiting::Branches => guard_branches(group.stream()),
                };
                let mut rewritten = Group::new(group.delimiter(), inner);
                rewritten.set_span(group.span());
                output.extend([TokenTree::Group(rewritten)]);
            }
            _ => output.extend([token.clone()]),
        }
    }
    output
}

/// `.__retry_guard()`, as the author's own tokens: where the name stands is where
/// the compiler points, and what it would remove with `.await` begins behind the
/// rest.
fn call(name: Span, behind: Span) -> TokenStream {
    let name = Ident::new("__retry_guard", name);
    quote_spanned!(behind=> .#name())
}

/// `await`, or `into_future()`, behind a dot. The second of two dots is not one.
fn awaits(after_dot: &[TokenTree]) -> bool {
    match after_dot {
        [TokenTree::Ident(word), ..] if word == "await" => true,
        [TokenTree::Ident(word), TokenTree::Group(arguments), ..] => {
            word == "into_future" && arguments.stream().is_empty()
        }
        _ => false,
    }
}

enum Awaiting {
    Nothing,
    /// Each of a list.
    All,
    /// The second of two.
    Second,
    /// Each `pattern = future => …`.
    Branches,
}

/// What a macro or a function does with what stands in its parentheses, known by
/// its name.
fn awaiting(before: &[TokenTree], group: &Group) -> Awaiting {
    match before {
        [.., TokenTree::Ident(name), TokenTree::Punct(bang)] if bang.as_char() == '!' => {
            if JOINS.iter().any(|join| name == join) {
                Awaiting::All
            } else if name == "select" {
                Awaiting::Branches
            } else {
                Awaiting::Nothing
            }
        }
        [rest @ .., TokenTree::Ident(name)] if group.delimiter() == Delimiter::Parenthesis => {
            let is_function = match rest.last() {
                Some(TokenTree::Punct(dot)) => dot.as_char() != '.',
                Some(TokenTree::Ident(word)) => word != "fn",
                _ => true,
            };
            if is_function && TIMEOUTS.iter().any(|timeout| name == timeout) {
                Awaiting::Second
            } else {
                Awaiting::Nothing
            }
        }
        _ => Awaiting::Nothing,
    }
}

/// `a, b` → `(a).__retry_guard(), (b).__retry_guard()`; tokio's `biased;` in
/// front stays.
fn guard_all(tokens: TokenStream) -> TokenStream {
    let tokens: Vec<_> = tokens.into_iter().collect();
    let (before, list) = match tokens.iter().position(|token| is_punct(token, ';')) {
        Some(semicolon) => tokens.split_at(semicolon + 1),
        None => (&[][..], &tokens[..]),
    };
    let arguments = separated(list).into_iter().map(|argument| match argument {
        Part::Tokens(tokens) => guarded(tokens),
        Part::Comma(comma) => quote!(#comma),
    });
    quote!(#(#before)* #(#arguments)*)
}

/// `limit, future` → `limit, (future).__retry_guard()`; anything but two
/// arguments is not the function that is meant.
fn guard_second(tokens: TokenStream) -> TokenStream {
    let tokens: Vec<_> = tokens.into_iter().collect();
    match &separated(&tokens)[..] {
        [Part::Tokens(limit), Part::Comma(comma), Part::Tokens(future), rest @ ..]
            if rest.len() < 2 =>
        {
            let limit = guard(limit.iter().cloned().collect());
            let future = guarded(future);
            quote!(#limit #comma #future)
        }
        _ => guard(tokens.into_iter().collect()),
    }
}

/// `pattern = future => handler` → `pattern = (future).__retry_guard() => handler`.
fn guard_branches(tokens: TokenStream) -> TokenStream {
    let tokens: Vec<_> = tokens.into_iter().collect();
    let mut output = TokenStream::new();
    let mut rest = &tokens[..];
    while let Some((equals, arrow)) = next_branch(rest) {
        let future_end = rest[equals + 1..arrow]
            .iter()
            .position(|token| is_punct(token, ','))
            .map_or(arrow, |comma| equals + 1 + comma);
        output.extend(guard(rest[..equals].iter().cloned().collect()));
        output.extend([rest[equals].clone()]);
        output.extend(guarded(&rest[equals + 1..future_end]));
        output.extend(guard(rest[future_end..arrow].iter().cloned().collect()));
        rest = &rest[arrow..];
    }
    output.extend(guard(rest.iter().cloned().collect()));
    output
}

/// The `=` of the next branch and the `=>` after it.
fn next_branch(tokens: &[TokenTree]) -> Option<(usize, usize)> {
    let equals = (0..tokens.len()).find(|&at| is_single_equals(tokens, at))?;
    let arrow = (equals + 1..tokens.len()).find(|&at| is_arrow(&tokens[at..]))?;
    Some((equals, arrow))
}

fn is_single_equals(tokens: &[TokenTree], at: usize) -> bool {
    let alone = matches!(&tokens[at], TokenTree::Punct(punct)
        if punct.as_char() == '=' && punct.spacing() == Spacing::Alone);
    let joined = at > 0
        && matches!(&tokens[at - 1], TokenTree::Punct(punct) if punct.spacing() == Spacing::Joint);
    alone && !joined
}

fn is_arrow(tokens: &[TokenTree]) -> bool {
    matches!(tokens, [TokenTree::Punct(equals), TokenTree::Punct(greater), ..]
        if equals.as_char() == '='
            && equals.spacing() == Spacing::Joint
            && greater.as_char() == '>')
}

/// `future` → `(future).__retry_guard()`, guarded inside too.
pub(super) fn guard_future(tokens: TokenStream) -> TokenStream {
    guarded(&tokens.into_iter().collect::<Vec<_>>())
}

fn guarded(tokens: &[TokenTree]) -> TokenStream {
    let [first, ..] = tokens else {
        return TokenStream::new();
    };
    let last = tokens.last().unwrap_or(first);
    let call = call(first.span(), last.span());
    let mut parenthesized =
        Group::new(Delimiter::Parenthesis, guard(tokens.iter().cloned().collect()));
    parenthesized.set_span(Span::call_site().located_at(last.span()));
    let parenthesized = TokenTree::Group(parenthesized);
    quote!(#parenthesized #call)
}

enum Part<'a> {
    Tokens(&'a [TokenTree]),
    Comma(&'a Punct),
}

/// A list and its commas. Angle brackets are not groups, so a turbofish with
/// two arguments is split wrongly: then the compiler reports it as it would
/// report any misplaced comma.
fn separated(tokens: &[TokenTree]) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, token) in tokens.iter().enumerate() {
        if let TokenTree::Punct(punct) = token
            && punct.as_char() == ','
        {
            parts.push(Part::Tokens(&tokens[start..at]));
            parts.push(Part::Comma(punct));
            start = at + 1;
        }
    }
    if start < tokens.len() {
        parts.push(Part::Tokens(&tokens[start..]));
    }
    parts
}

fn is_punct(token: &TokenTree, character: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == character)
}

/// Every `from` as `to`, wherever it stands.
pub(super) fn replace(tokens: TokenStream, from: &str, to: &Ident) -> TokenStream {
    tokens
        .into_iter()
        .map(|token| match token {
            TokenTree::Ident(word) if word == from => {
                let mut to = to.clone();
                to.set_span(to.span().located_at(word.span()));
                TokenTree::Ident(to)
            }
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), replace(group.stream(), from, to));
                inner.set_span(group.span());
                TokenTree::Group(inner)
            }
            token => token,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_awaited_is_guarded() {
        for (body, guarded) in [
            ("f().await?", "f().__retry_guard().await?"),
            ("let g = f(); g.await", "let g = f(); g.__retry_guard().await"),
            ("vec![f().await]", "vec![f().__retry_guard().await]"),
            ("a.b.await.c", "a.b.__retry_guard().await.c"),
            ("f().into_future().await", "f().__retry_guard().into_future().__retry_guard().await"),
            ("x.into_future(1)", "x.into_future(1)"),
            ("0..await_count", "0..await_count"),
            ("join!(a(), b(1, 2))", "join!((a()).__retry_guard(), (b(1, 2)).__retry_guard())"),
            ("tokio::try_join!(a(),)", "tokio::try_join!((a()).__retry_guard(),)"),
            ("join!(biased; a())", "join!(biased; (a()).__retry_guard())"),
            ("timeout(d, a())", "timeout(d, (a()).__retry_guard())"),
            ("timeout(d, a(),)", "timeout(d, (a()).__retry_guard())"),
            ("time::timeout_at(at(x), a)", "time::timeout_at(at(x), (a).__retry_guard())"),
            ("builder.timeout(a, b)", "builder.timeout(a, b)"),
            ("fn timeout(a: A, b: B) {}", "fn timeout(a: A, b: B) {}"),
            ("timeout(d)", "timeout(d)"),
            (
                "select! { a = f() => g().await, Some(b) = h, if x == 1 => {} else => k }",
                "select! { a = (f()).__retry_guard() => g().__retry_guard().await, \
                 Some(b) = (h).__retry_guard(), if x == 1 => {} else => k }",
            ),
            ("select(a, b)", "select(a, b)"),
        ] {
            let body: TokenStream = body.parse().unwrap();
            let guarded: TokenStream = guarded.parse().unwrap();
            assert_eq!(guard(body).to_string(), guarded.to_string());
        }
    }
}
