//! What is wrong with the settings, where, and what to do about it.

use std::{fmt, path::PathBuf};

/// Settings that cannot be used. Never holds a token, nor text that could be one.
#[derive(Debug)]
pub struct ConfigError {
    /// The file, when one is at fault.
    pub file: Option<PathBuf>,
    /// The line in it, counted from 1.
    pub line: Option<usize>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub remedy: Option<String>,
    /// The error below.
    pub source: Option<std::io::Error>,
}

impl ConfigError {
    /// An error that belongs to no file.
    pub(super) fn new(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            file: None,
            line: None,
            message: message.into(),
            remedy: Some(remedy.into()),
            source: None,
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

impl std::error::Error for ConfigError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source
            .as_ref()
            .map(|source| source as &(dyn std::error::Error + 'static))
    }
}

/// A fault inside a settings file, before the file's name is known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Fault {
    pub(super) line: usize,
    pub(super) wrong: Wrong,
}

/// A fault in a value, before its place is known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wrong {
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub remedy: String,
}

impl Wrong {
    pub(super) fn new(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            remedy: remedy.into(),
        }
    }

    /// The error when the value came from a variable or a flag.
    pub fn given_by(self, name: &str) -> ConfigError {
        ConfigError::new(format!("{name}: {}", self.message), self.remedy)
    }

    pub(super) fn at(self, line: usize) -> Fault {
        Fault { line, wrong: self }
    }
}

impl Fault {
    pub(super) fn in_file(self, file: PathBuf) -> ConfigError {
        ConfigError {
            file: Some(file),
            line: Some(self.line),
            message: self.wrong.message,
            remedy: Some(self.wrong.remedy),
            source: None,
        }
    }
}
