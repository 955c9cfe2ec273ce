//! Errors in the settings: the fault, its place, and the remedy.

use std::{fmt, path::PathBuf};

/// An error in the settings. It never contains a token, or a text that could be a token.
#[derive(Debug, thiserror::Error)]
pub struct ConfigError {
    /// The file with the error.
    pub file: Option<PathBuf>,
    /// The line with the error, counted from 1.
    pub line: Option<usize>,
    /// The fault.
    pub message: String,
    /// The remedy.
    pub remedy: Option<String>,
    /// The cause.
    pub source: Option<std::io::Error>,
}

impl ConfigError {
    /// Makes an error without a file.
    pub(super) fn new(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            file: None,
            line: None,
            message: message.into(),
            remedy: Some(remedy.into()),
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

/// An error in a settings file, before the file's name is added.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct SettingError {
    pub(super) line: usize,
    pub(super) wrong: ValueError,
}

/// An error in a value, before its place is added.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ValueError {
    /// The fault.
    pub message: String,
    /// The remedy.
    pub remedy: String,
}

impl ValueError {
    pub(super) fn new(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            remedy: remedy.into(),
        }
    }

    /// Makes the error for a value from a variable or a flag called `name`.
    pub fn given_by(self, name: &str) -> ConfigError {
        ConfigError::new(format!("{name}: {}", self.message), self.remedy)
    }

    pub(super) fn at(self, line: usize) -> SettingError {
        SettingError { line, wrong: self }
    }
}

impl SettingError {
    pub(super) fn in_file(self, file: PathBuf) -> ConfigError {
        ConfigError {
            line: Some(self.line),
            ..ConfigError::of_file(file, self.wrong.message, self.wrong.remedy)
        }
    }
}
