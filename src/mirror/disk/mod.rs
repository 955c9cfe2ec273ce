//! The folder itself, as far as kbsync needs it: the port that scanning and writing work with.
//!
//! The promises of every implementation:
//! - Names are single components. No symbolic link is followed, in no component (failures rows 129, 130).
//! - A path has one whole version or another, never a part of one: contents are staged in a slot of
//!   the private folder and put in place by a rename.
//! - Nothing unexpected is replaced or removed, and nothing that was replaced or removed is unlinked: it lies in
//!   the slot afterwards. The caller says what it expects; the check is made on what came out of the rename, so
//!   that a save in that very instant is put back and reported as [`DiskErrorKind::Changed`] (failures row 80).
//! - After a change that failed the slot is as it was before: a staged file is still in it. If the change could not be
//!   taken back, the slot holds another file, and only the journal can tell which.
//! - Renames are not made durable: stage few files with [`Durability::Now`] and call [`Disk::sync_folder`]; stage
//!   many with [`Durability::Later`], then [`Disk::flush`], publish all, and flush again before anything is
//!   recorded.
//!
//! Not done here: deciding what to write, remembering what a slot is for, and telling articles from other
//! files.

mod open;
mod place;
mod real;
mod rename;
mod slots;

pub use real::RealDisk;

use crate::model::{
    Digest, Place, Stamp,
    path::{CONFLICT_EXTENSION, EXTENSION, quoted_as_git},
};
use rustix::io::Errno;
use std::{collections::BTreeMap, fmt, io};

/// The start of the names of slots within a category's folder. No such name is ever listed as an article.
pub const TEMPORARY: &str = ".kbsync-tmp-";

/// The number of a slot. The caller gives each number once.
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
    /// A symbolic link; where it leads is not asked.
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
    /// Names that are not UTF-8, made readable.
    pub odd_names: Vec<String>,
}

/// A file's bytes, and its stamp before and after they were read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Content {
    /// The bytes; only a first part of a file over the limit.
    pub bytes: Vec<u8>,
    /// The stamp.
    pub stamp: Stamp,
    /// Whether these are all bytes of the file.
    pub whole: bool,
}

/// The file that the caller expects at a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expect {
    /// Nothing.
    Absent,
    /// The file that had this stamp.
    Stamp(Stamp),
    /// The same, where the stamp was too young to vouch for the bytes: these are compared as well.
    Bytes(Stamp, Digest),
    /// The file that had this stamp under the same name in another case, where the file system folds case.
    Cased(Stamp),
}

/// The place of a slot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Area {
    /// Files on their way: to be put in place, or just taken out.
    Stage,
    /// Files that were replaced or removed, for as long as a program may still write into them.
    Displaced,
}

/// When the bytes of a staged file are to be on the disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Durability {
    /// When `stage` returns.
    Now,
    /// After the next [`Disk::flush`].
    Later,
}

/// A folder of files, through open directories.
pub trait Disk: Send + Sync + 'static {
    /// The number of folders that may be listed at the same time.
    fn walkers(&self) -> usize {
        std::thread::available_parallelism().map_or(2, |cores| cores.get().max(2))
    }

    /// Lists a folder. A folder that changes all the while is an error, not a partial list.
    fn list(&self, at: At<'_>) -> Result<Listing, DiskError>;

    /// The stamp of the root itself: it tells when a name last came there or went.
    fn root_stamp(&self) -> Result<Stamp, DiskError>;

    /// Returns whether a folder within a category's folder holds a regular file, at any depth, of which this is the
    /// name. A disk may have no such folders.
    fn holds(&self, _folder: &Place, _wanted: &dyn Fn(&str) -> bool) -> Result<bool, DiskError> {
        Ok(false)
    }

    /// Returns the entry at a name; `None`: there is none.
    fn look(&self, at: At<'_>, name: &str) -> Result<Option<Entry>, DiskError>;

    /// Reads a regular file of at most `limit` bytes. A file that changes meanwhile is an error.
    fn read(&self, at: At<'_>, name: &str, limit: usize) -> Result<Content, DiskError>;

    /// Writes bytes into a slot, on the file system of a folder.
    fn stage(
        &self,
        slot: Slot,
        at: At<'_>,
        bytes: &[u8],
        durability: Durability,
    ) -> Result<(), DiskError>;

    /// Gives a staged file the mode of a file that it is a copy of, so that a copy of what only its owner may read is
    /// not for everybody. Does nothing where that file is not there; a disk may have no modes.
    fn keep_mode(&self, _slot: Slot, _at: At<'_>, _like: &Place) -> Result<(), DiskError> {
        Ok(())
    }

    /// Gives a staged file its name, and its stamp under that name. A replaced file's mode is kept; the file itself
    /// lies in the slot.
    fn publish(
        &self,
        slot: Slot,
        at: At<'_>,
        name: &str,
        expect: Expect,
    ) -> Result<Stamp, DiskError>;

    /// Takes a file away into an empty slot; a filled one is an error.
    fn take(&self, slot: Slot, at: At<'_>, name: &str, expect: Expect) -> Result<(), DiskError>;

    /// Gives the file of a slot a free name beside another one, which a person sees and no scan takes for an
    /// article.
    fn set_beside(&self, slot: Slot, at: At<'_>, name: &str) -> Result<String, DiskError>;

    /// The stamp of what lies in a slot; `None`: nothing. The folder may be gone.
    fn look_aside(&self, area: Area, slot: Slot, at: At<'_>) -> Result<Option<Stamp>, DiskError>;

    /// Reads what lies in a slot.
    fn read_aside(
        &self,
        area: Area,
        slot: Slot,
        at: At<'_>,
        limit: usize,
    ) -> Result<Content, DiskError>;

    /// Moves what was taken out of the stage to where it stays for a while.
    fn displace(&self, slot: Slot, at: At<'_>) -> Result<(), DiskError>;

    /// Empties a slot. An empty one stays so.
    fn discard(&self, area: Area, slot: Slot, at: At<'_>) -> Result<(), DiskError>;

    /// Empties the slots that nobody knows; only for the holder of the lock. `known`: the others, and where their
    /// files belong. `lost`: the journal may have gone with the state, and nothing of the stage is removed for that.
    /// Returns the number of files.
    fn sweep(&self, known: &BTreeMap<Slot, Place>, lost: bool) -> Result<usize, DiskError>;

    /// Makes a folder in the root.
    fn create_folder(&self, name: &str) -> Result<(), DiskError>;

    /// Renames a folder in the root, to a name where nothing lies.
    fn rename_folder(&self, from: &str, to: &str) -> Result<(), DiskError>;

    /// Removes an empty folder in the root; one with anything in it is an error.
    fn remove_folder(&self, name: &str) -> Result<(), DiskError>;

    /// Makes the names in a folder durable.
    fn sync_folder(&self, at: At<'_>) -> Result<(), DiskError>;

    /// Makes everything durable that was written so far.
    fn flush(&self) -> Result<(), DiskError>;
}

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

/// The name under which a file is kept whose own is taken.
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
