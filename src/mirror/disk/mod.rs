//! The mirror's folder as a port: the operations for scanning and writing.
//!
//! Every implementation guarantees:
//! - Names are single components. No symbolic link is followed, in no component (failures rows 129, 130).
//! - A path always has one whole version, never a part of one: contents are staged in a slot of the private folder and
//!   put in place by a rename.
//! - No unexpected file is replaced or removed. A replaced or removed file is not unlinked: it lies in the slot
//!   afterwards. The caller passes its expectation, and the check is made after the rename on the file in the slot. A
//!   save at that very moment is put back and reported as [`DiskErrorKind::Changed`] (failures row 80).
//! - A failed change leaves the slot as it was: a staged file is still in the slot. If the change could not be undone,
//!   the slot holds another file, and only the journal can tell which.
//! - Renames are not durable by themselves. For few files: stage with [`Durability::Now`], publish, then call
//!   [`Disk::sync_folder`]. For many: stage with [`Durability::Later`], call [`Disk::flush`], publish all, and flush
//!   again before anything is recorded.
//!
//! The port does not decide what to write, does not remember the purpose of a slot, and does not tell articles from
//! other files.

mod open;
mod place;
mod real;
mod rename;
mod slots;
mod sweep;

pub use real::RealDisk;

use crate::model::{
    KnownFile, Place, Stamp,
    path::{CONFLICT_EXTENSION, EXTENSION, quoted_as_git},
};
use rustix::io::Errno;
use std::{collections::BTreeMap, fmt, io};

/// The prefix of slots within a category's folder. No such name is ever listed as an article.
pub const TEMPORARY: &str = ".kbsync-tmp-";

/// The number of a slot. The caller uses each number once.
pub type Slot = i64;

/// A folder of the mirror: its root, or a category's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum At<'a> {
    /// The root.
    Root,
    /// A folder in the root.
    Folder(&'a str),
}

/// The kind of a directory entry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link; its target is not examined.
    Link,
    /// A device, a pipe or a socket.
    Other,
}

/// A name in a folder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The name, as the file system gives it.
    pub name: String,
    /// The kind of the entry.
    pub kind: Kind,
    /// Its stamp.
    pub stamp: Stamp,
}

/// All names in a folder at one moment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Listing {
    /// The entries, in no order.
    pub entries: Vec<Entry>,
    /// Names that are not UTF-8, in a readable form.
    pub odd_names: Vec<String>,
    /// Whether the folder is on another file system than the mirror.
    pub is_mount: bool,
}

/// A file's bytes, with the stamp that the file had before and after the read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Content {
    /// The bytes; for a file over the limit, only the first part.
    pub bytes: Vec<u8>,
    /// The stamp.
    pub stamp: Stamp,
    /// Whether these are all the bytes of the file.
    pub whole: bool,
}

/// The file that the caller expects at a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expect {
    /// Nothing.
    Absent,
    /// The file that was read. The bytes are compared as well: a save within a clock tick of the read may leave the
    /// stamp as it is.
    File(KnownFile),
}

/// The area of a slot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Area {
    /// Files that will be put in place, or were just taken away.
    Stage,
    /// Replaced or removed files, kept for as long as a program may still write into them.
    Displaced,
}

/// When the bytes of a staged file become durable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Durability {
    /// When `stage` returns.
    Now,
    /// After the next [`Disk::flush`].
    Later,
}

/// The folders and files of a mirror.
pub trait Disk: Send + Sync + 'static {
    /// The number of folders that may be listed in parallel.
    fn walkers(&self) -> usize {
        std::thread::available_parallelism().map_or(2, |cores| cores.get().max(2))
    }

    /// Lists a folder. A folder that keeps changing is an error, not a partial list.
    fn list(&self, at: At<'_>) -> Result<Listing, DiskError>;

    /// Returns whether a folder within a category's folder holds, at any depth, a regular file with a wanted name. Hidden
    /// names and unreadable folders are skipped. An implementation may have no such folders.
    fn holds(&self, _folder: &Place, _wanted: &dyn Fn(&str) -> bool) -> bool {
        false
    }

    /// Returns the entry at a name; `None`: there is none.
    fn look(&self, at: At<'_>, name: &str) -> Result<Option<Entry>, DiskError>;

    /// Reads a regular file of at most `limit` bytes. A file that changes during the read is an error.
    fn read(&self, at: At<'_>, name: &str, limit: usize) -> Result<Content, DiskError>;

    /// Writes bytes into a slot on the file system of a folder.
    fn stage(
        &self,
        slot: Slot,
        at: At<'_>,
        bytes: &[u8],
        durability: Durability,
    ) -> Result<(), DiskError>;

    /// Gives a staged copy the mode of the original file, so that a copy of a private file is private, too. Does
    /// nothing if the original is gone; an implementation may have no modes.
    fn keep_mode(&self, _slot: Slot, _at: At<'_>, _like: &Place) -> Result<(), DiskError> {
        Ok(())
    }

    /// Puts a staged file in place, and returns its stamp there. The new file takes the mode of the replaced file,
    /// which lies in the slot afterwards.
    fn publish(
        &self,
        slot: Slot,
        at: At<'_>,
        name: &str,
        expect: Expect,
    ) -> Result<Stamp, DiskError>;

    /// Moves a file into an empty slot; a filled slot is an error.
    fn take(&self, slot: Slot, at: At<'_>, name: &str, expect: Expect) -> Result<(), DiskError>;

    /// Puts the file of a slot beside another file, under a free name that a person sees and that no scan takes for an
    /// article. Returns the name.
    fn set_beside(
        &self,
        area: Area,
        slot: Slot,
        at: At<'_>,
        name: &str,
    ) -> Result<String, DiskError>;

    /// The stamp of the file in a slot; `None`: the slot is empty. The folder may be gone.
    fn look_aside(&self, area: Area, slot: Slot, at: At<'_>) -> Result<Option<Stamp>, DiskError>;

    /// Reads the file in a slot.
    fn read_aside(
        &self,
        area: Area,
        slot: Slot,
        at: At<'_>,
        limit: usize,
    ) -> Result<Content, DiskError>;

    /// Moves a removed or replaced file from the stage to the displaced files.
    fn displace(&self, slot: Slot, at: At<'_>) -> Result<(), DiskError>;

    /// Empties a slot; does nothing if the slot is empty.
    fn discard(&self, area: Area, slot: Slot, at: At<'_>) -> Result<(), DiskError>;

    /// Clears up the unknown slots; only for the holder of the lock. `known`: the slots in the journal, and the places
    /// of their files. `lost`: the journal may have gone with the state, so no file of the stage is deleted. Returns the
    /// number of files that were cleared up. What cannot be cleared up is logged and stays.
    fn sweep(&self, known: &BTreeMap<Slot, Place>, lost: bool) -> usize;

    /// Creates a folder in the root.
    fn create_folder(&self, name: &str) -> Result<(), DiskError>;

    /// Renames a folder in the root to a free name.
    fn rename_folder(&self, from: &str, to: &str) -> Result<(), DiskError>;

    /// Removes an empty folder in the root; a folder with content is an error.
    fn remove_folder(&self, name: &str) -> Result<(), DiskError>;

    /// Makes the names in a folder durable.
    fn sync_folder(&self, at: At<'_>) -> Result<(), DiskError>;

    /// Makes a file and its name durable that somebody else wrote; does nothing if no file is there. An implementation
    /// may count such a file as durable.
    fn sync_file(&self, _at: At<'_>, _name: &str) -> Result<(), DiskError> {
        Ok(())
    }

    /// Makes everything durable that has been written so far.
    fn flush(&self) -> Result<(), DiskError>;
}

/// The kind of a failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DiskErrorKind {
    /// The path does not exist.
    NotFound,
    /// The path exists already.
    Exists,
    /// The file is not the expected one, or it changed while it was read. Try again after a scan.
    Changed,
    /// A link, a folder or something else lies at a file's path, or a file at a folder's path.
    WrongKind,
    /// The folder is not empty.
    NotEmpty,
    /// The name is not a single component, or the file system does not support it.
    BadName,
    /// Permission is denied.
    Denied,
    /// No space or quota is left.
    Full,
    /// The file system is read-only.
    ReadOnly,
    /// The mirror's folder is gone, or another folder has taken its place.
    Replaced,
    /// The folder had files, and now an empty file system is in its place.
    EmptyMount,
    /// Anything else, such as an input/output error.
    Other,
}

impl DiskErrorKind {
    /// Returns whether every further write would fail in the same way.
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
            Self::EmptyMount => Some("another file system is mounted there, and it is empty"),
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
            Self::EmptyMount => Some("mount the one with the files, or unmount this one"),
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
    /// Returns the same error for another file, without its cause.
    #[must_use]
    pub fn without_cause(&self) -> Self {
        Self::new(self.kind, self.doing, self.path.clone())
    }

    /// Makes an error without a cause.
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

    /// The error with its remedy on one line, for reports without a separate line for the remedy.
    pub fn with_remedy(&self) -> String {
        match self.kind.remedy() {
            Some(remedy) => format!("{self}; {remedy}"),
            None => self.to_string(),
        }
    }

    /// The failure as a sentence with its remedy; without a known remedy, with its causes.
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

/// The name for a file that is kept beside another file, because its own name is taken.
pub fn beside_name(name: &str, number: u32) -> String {
    let ending = format!(".{number}{CONFLICT_EXTENSION}");
    let mut stem = name
        .strip_suffix(EXTENSION)
        .unwrap_or(name)
        .trim_start_matches('.')
        .to_owned();
    while stem.len() + ending.len() > 255 {
        stem.pop();
    }
    stem + &ending
}

#[cfg(test)]
mod tests;
