//! Errors in the settings: the fault, its place, and the remedy.

use std::{fmt, path::PathBuf};

/// An error in the settings, or in one value. It never contains a token, or a text that could be a token.
#[derive(Debug, thiserror::Error)]
pub struct ConfigError {
    /// The file with the error.
    pub file: Option<PathBuf>,
    /// The line with the error, counted from 1.
    pub line: Option<usize>,
    /// The fault.
    pub message: String,
    /// The remedy.
    pub remedy: String,
    /// The cause.
    pub source: Option<std::io::Error>,
}

impl ConfigError {
    /// Makes an error without a place.
    pub(super) fn new(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            file: None,
            line: None,
            message: message.into(),
            remedy: remedy.into(),
            source: None,
        }
    }

    /// Makes an error about a file.
    pub(super) fn of_file(
        file: impl Into<PathBuf>,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            file: Some(file.into()),
            ..Self::new(message, remedy)
        }
    }

    /// Makes the error for a value from a variable or a flag called `name`.
    #[must_use]
    pub fn given_by(self, name: &str) -> Self {
        Self::new(format!("{name}: {}", self.message), self.remedy)
    }

    /// Adds the line, unless the error has one.
    pub(super) fn at(self, line: usize) -> Self {
        Self {
            line: self.line.or(Some(line)),
            ..self
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{}", file.display())?;
            if let Some(line) = self.line {
                write!(f, ":{line}")?;
            }
            f.write_str(": ")?;
        }
        f.write_str(&self.message)
    }
}
