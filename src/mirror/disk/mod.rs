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

mod below;
mod beside;
mod error;
mod place;
mod real;
mod rename;
mod slots;

pub use beside::beside_name;
pub use error::{DiskError, DiskErrorKind};
pub use real::RealDisk;

use crate::model::{Digest, Place, Stamp};
use std::collections::BTreeMap;

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

#[cfg(test)]
mod tests;
