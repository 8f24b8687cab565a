//! A name that the retrier does not know.

use std::fmt;

/// What was looked up in a retrier and is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnknownName {
    /// What it would be: `policy`.
    what: &'static str,
    name: String,
    /// Sorted; `None` where there is no retrier.
    known: Option<Vec<String>>,
}

impl UnknownName {
    pub(crate) fn new<'a>(
        what: &'static str,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let mut known: Vec<_> = known.into_iter().map(str::to_owned).collect();
        known.sort_unstable();
        Self { what, name: name.to_owned(), known: Some(known) }
    }

    pub(crate) fn without_retrier(what: &'static str, name: &str) -> Self {
        Self { what, name: name.to_owned(), known: None }
    }
}

/// One clause: the name, and those that there are.
impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, name, known } = self;
        let name = name.escape_debug();
        let Some(known) = known else {
            return write!(
                f,
                "there is no retrier that would know the {what} `{name}`; give one with `with`"
            );
        };
        write!(f, "the retrier knows no {what} `{name}`; it knows ")?;
        if known.is_empty() {
            return f.write_str("none");
        }
        for (index, name) in known.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}`{}`", name.escape_debug())?;
        }
        Ok(())
    }
}
