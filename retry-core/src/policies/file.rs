//! Policies from a file.

use std::path::Path;

use serde::Deserialize;

use super::{Policies, PoliciesError};

/// The whole of a file. Another key is a mistake: in a misspelled `polices`, none
/// would be found.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    policies: Policies,
}

type Reader = fn(&str) -> Result<Policies, PoliciesError>;

impl Policies {
    /// Reads a file, by its extension: `.toml` or `.json`, each behind the feature
    /// of that name. Blocks while the file is read.
    ///
    /// # Errors
    /// The file cannot be read, is half-written, or holds what is not a valid
    /// policy. The text begins with the file's name, the line and the column.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, PoliciesError> {
        let path = path.as_ref();
        let reader = reader(path)?;
        let text = std::fs::read_to_string(path)
            .map_err(|error| PoliciesError::Unreadable { path: path.to_owned(), error })?;
        reader(&text).map_err(|error| match error {
            PoliciesError::Malformed { line, column, message, .. } => {
                PoliciesError::Malformed { path: Some(path.to_owned()), line, column, message }
            }
            error => error,
        })
    }

    /// Reads policies from TOML.
    ///
    /// # Errors
    /// What is wrong, at its line and column.
    ///
    /// ```
    /// use retry_core::Policies;
    ///
    /// let policies = Policies::from_toml(r#"
    ///     [policies.gateway]
    ///     max_attempts = 5
    ///     deadline = "30s"
    /// "#)?;
    /// assert_eq!(policies.names().collect::<Vec<_>>(), ["gateway"]);
    ///
    /// let error = Policies::from_toml("[policies.gateway]\nmax_attempts = 5\ndeadline = 30");
    /// assert_eq!(error.unwrap_err().to_string(), "line 3, column 12: `30` has no unit; write \"30s\"");
    /// # Ok::<(), retry_core::policies::PoliciesError>(())
    /// ```
    #[cfg(feature = "toml")]
    pub fn from_toml(text: &str) -> Result<Self, PoliciesError> {
        let file: File = toml::from_str(text).map_err(|error| {
            // One of the whole file has no place of its own.
            let start = error.span().map_or(0, |span| span.start);
            let (line, column) = place(text, start);
            malformed(line, column, error.message())
        })?;
        Ok(file.policies)
    }

    /// Reads policies from JSON.
    ///
    /// # Errors
    /// What is wrong, at its line and column.
    ///
    /// ```
    /// use retry_core::Policies;
    ///
    /// let policies = Policies::from_json(r#"{
    ///     "policies": { "gateway": { "max_attempts": 5, "deadline": "30s" } }
    /// }"#)?;
    /// assert_eq!(policies.names().collect::<Vec<_>>(), ["gateway"]);
    /// # Ok::<(), retry_core::policies::PoliciesError>(())
    /// ```
    #[cfg(feature = "json")]
    pub fn from_json(text: &str) -> Result<Self, PoliciesError> {
        let file: File = serde_json::from_str(text).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            let message = error.to_string();
            // Said once: the place is in front.
            let end = format!(" at line {line} column {column}");
            malformed(line.max(1), column.max(1), message.strip_suffix(&end).unwrap_or(&message))
        })?;
        Ok(file.policies)
    }
}

fn reader(path: &Path) -> Result<Reader, PoliciesError> {
    match path.extension().and_then(|extension| extension.to_str()) {
        #[cfg(feature = "toml")]
        Some("toml") => Ok(Policies::from_toml),
        #[cfg(feature = "json")]
        Some("json") => Ok(Policies::from_json),
        _ => Err(PoliciesError::UnknownFormat { path: path.to_owned() }),
    }
}

fn malformed(line: usize, column: usize, message: &str) -> PoliciesError {
    PoliciesError::Malformed { path: None, line, column, message: message.to_owned() }
}

/// Line and column, from 1, of a place in a text.
#[cfg(feature = "toml")]
fn place(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
    (line, column)
}
