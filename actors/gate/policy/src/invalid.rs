//! The reason for which a policy file was refused.

use cedar_policy::{ParseErrors, ValidationError};
use miette::Diagnostic;

/// An invalid policy file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}:{line}: {message}")]
pub struct Invalid {
    /// The file.
    pub name: String,
    /// The line, from 1; 1 where Cedar does not say.
    pub line: u32,
    /// The error, in Cedar's own words where it is Cedar's.
    pub message: String,
}

impl Invalid {
    pub(crate) fn new(name: &str, line: u32, message: impl ToString) -> Self {
        Self { name: name.to_owned(), line, message: message.to_string() }
    }

    /// The first of the errors, which names the first place: the others are often its echo.
    pub(crate) fn parse(name: &str, text: &str, errors: &ParseErrors) -> Self {
        let first = errors.iter().next();
        let line = first.map_or(1, |error| line_of(text, error));
        Self::new(name, line, first.map_or_else(|| errors.to_string(), full))
    }

    pub(crate) fn validation(name: &str, text: &str, error: &ValidationError) -> Self {
        Self::new(name, line_of(text, error), full(error))
    }
}

/// A message with its help, if it has one.
fn full(error: &(impl Diagnostic + ?Sized)) -> String {
    error.help().map_or_else(|| error.to_string(), |help| format!("{error} ({help})"))
}

/// The line of the first place that an error points at.
fn line_of(text: &str, error: &(impl Diagnostic + ?Sized)) -> u32 {
    let offset = error.labels().and_then(|mut labels| labels.next()).map_or(0, |label| label.offset());
    let before = text.as_bytes().get(..offset).unwrap_or(text.as_bytes());
    let breaks = before.iter().filter(|byte| **byte == b'\n').count();
    u32::try_from(breaks).unwrap_or(u32::MAX).saturating_add(1)
}
