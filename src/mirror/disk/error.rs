//! Why an operation on the mirror failed: typed where the engine branches.

use crate::model::path::quoted_as_git;
use rustix::io::Errno;
use std::{fmt, io};

/// The kind of a failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DiskErrorKind {
    /// Nothing lies there.
    NotFound,
    /// Something lies there already.
    Exists,
    /// The file there is not the expected one, or changed while it was read. Try again after a scan.
    Changed,
    /// A link, a folder or something else lies where a file should, or the other way round.
    WrongKind,
    /// The folder is not empty.
    NotEmpty,
    /// Not a single name, or one that the file system cannot hold.
    BadName,
    /// No right to do it.
    Denied,
    /// No space is left, or no quota.
    Full,
    /// The file system is read-only.
    ReadOnly,
    /// The mirror's folder is gone, or another one has its place.
    Replaced,
    /// Anything else, such as an input/output error.
    Other,
}

impl DiskErrorKind {
    /// Returns whether every further write would meet the same wall.
    pub fn stops_all(self) -> bool {
        matches!(self, Self::Full | Self::ReadOnly | Self::Replaced)
    }

    fn reason(self) -> Option<&'static str> {
        match self {
            Self::NotFound => Some("nothing is there"),
            Self::Exists => Some("something is there already"),
            Self::Changed => Some("it changed meanwhile"),
            Self::WrongKind => Some("it is a link, or not what it should be"),
            Self::NotEmpty => Some("it is not empty"),
            Self::BadName => Some("the name cannot be used"),
            Self::Denied => Some("permission is denied"),
            Self::Full => Some("no space is left"),
            Self::ReadOnly => Some("the file system is read-only"),
            Self::Replaced => Some("the mirror's folder is gone or was replaced"),
            Self::Other => None,
        }
    }

    /// The remedy, where one is known.
    pub const fn remedy(self) -> Option<&'static str> {
        match self {
            Self::WrongKind => Some("put the file or folder itself there, or move it away"),
            Self::NotEmpty => Some("move away what is in it"),
            Self::BadName => Some("give it another name"),
            Self::Denied => Some("let this user read and write it"),
            Self::Full => Some("make room on this disk"),
            Self::ReadOnly => Some("mount the mirror's file system for writing"),
            Self::Replaced => Some("put the mirror's folder back in its place"),
            // The next cycle settles the first three.
            Self::NotFound | Self::Exists | Self::Changed | Self::Other => None,
        }
    }
}

/// A failed operation. The text fits after "failed to".
#[derive(Debug, thiserror::Error)]
pub struct DiskError {
    /// The kind of a failure.
    pub kind: DiskErrorKind,
    /// The operation, such as `read`.
    pub doing: &'static str,
    /// The path, relative to the mirror.
    pub path: String,
    /// The error below.
    pub source: Option<io::Error>,
}

impl DiskError {
    /// Makes an error that has no cause below.
    pub fn new(kind: DiskErrorKind, doing: &'static str, path: impl Into<String>) -> Self {
        Self {
            kind,
            doing,
            path: path.into(),
            source: None,
        }
    }

    pub(super) fn from_errno(errno: Errno, doing: &'static str, path: impl Into<String>) -> Self {
        let kind = match errno {
            Errno::NOENT => DiskErrorKind::NotFound,
            Errno::EXIST => DiskErrorKind::Exists,
            Errno::NOTEMPTY => DiskErrorKind::NotEmpty,
            Errno::LOOP | Errno::NOTDIR | Errno::ISDIR | Errno::NXIO => DiskErrorKind::WrongKind,
            Errno::NAMETOOLONG | Errno::ILSEQ => DiskErrorKind::BadName,
            Errno::ACCESS | Errno::PERM => DiskErrorKind::Denied,
            Errno::NOSPC | Errno::DQUOT => DiskErrorKind::Full,
            Errno::ROFS => DiskErrorKind::ReadOnly,
            _ => DiskErrorKind::Other,
        };
        Self {
            source: Some(errno.into()),
            ..Self::new(kind, doing, path)
        }
    }

    /// The error with what to do about it, for where it has no line of its own.
    pub fn with_remedy(&self) -> String {
        match self.kind.remedy() {
            Some(remedy) => format!("{self}; {remedy}"),
            None => self.to_string(),
        }
    }

    /// The failure as a sentence with what to do about it; with its causes, where nothing more is known.
    pub fn in_words(&self) -> String {
        let mut words = format!("failed to {}", self.with_remedy());
        if self.kind.remedy().is_some() {
            return words;
        }
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            words.push_str(": ");
            words.push_str(&error.to_string());
            cause = error.source();
        }
        words
    }
}

impl fmt::Display for DiskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.doing, quoted_as_git(&self.path))?;
        match self.kind.reason() {
            Some(reason) => write!(f, ": {reason}"),
            None => Ok(()),
        }
    }
}
