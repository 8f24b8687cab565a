//! Why repeating an operation is safe.

/// Why repeating the operation is safe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "durable", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "durable", serde(rename_all = "snake_case"))]
pub enum Safety {
    /// Repeating is harmless. The default.
    #[default]
    Idempotent,
    /// The other side recognizes a repeated call by its key.
    Keyed,
    /// It repeats only what certainly had no effect.
    AtMostOnce,
}

impl Safety {
    /// As a lower-case word, for logs and labels.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Idempotent => "idempotent",
            Self::Keyed => "keyed",
            Self::AtMostOnce => "at_most_once",
        }
    }
}
