//! The folder itself, as far as kbsync needs it: the port that scanning and writing work with.
//!
//! What every implementation promises:
//! - Names are single components. No symbolic link is followed, in no component (failures rows 129, 130).
//! - What lies at a path is one whole version or another, never a part of one: contents are staged under a
//!   reserved name and put in place by a rename.
//! - Nothing unexpected is replaced or removed. The caller says what it expects; the check is made on what
//!   came out of the exchange, so that a save in that very instant is put back and reported as
//!   [`DiskErrorKind::Changed`] (failures row 80).
//! - [`Disk::publish`], [`Disk::remove`] and the renames do not make anything durable: stage few files with
//!   [`Durability::Now`] and call [`Disk::sync_folder`]; stage many with [`Durability::Later`], then
//!   [`Disk::flush`], publish all, and flush again before anything is recorded.
//!
//! - What a program writes into a file that it had open before that was replaced or removed is not lost while
//!   this value lives: [`Disk::late`] gives it (failures row 81).
//!
//! What is not done here: deciding what to write, and telling articles from other files.

mod below;
mod error;
mod late;
mod place;
mod real;
mod rename;
mod rescue;

pub use error::{DiskError, DiskErrorKind};
pub use real::RealDisk;
pub use rescue::beside_name;

use crate::model::{Place, Stamp};

/// How the names of staged files begin. No such name is ever listed as an article.
pub const TEMPORARY: &str = ".kbsync-tmp-";

/// A folder of the mirror: its root, or a category's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum At<'a> {
    /// The root.
    Root,
    /// A folder in the root.
    Folder(&'a str),
}

/// What lies at a name.
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
    /// What lies there.
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

/// What the caller believes to lie at a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expect {
    /// Nothing.
    Absent,
    /// The file that had this stamp.
    Stamp(Stamp),
}

/// When the bytes of a staged file are to be on the disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Durability {
    /// When `stage` returns.
    Now,
    /// After the next [`Disk::flush`].
    Later,
}

/// A file that was written and has no name yet. Dropping it leaves it to the next sweep.
#[derive(PartialEq, Eq, Debug)]
pub struct Staged {
    /// The category's folder; `None`: the root.
    pub folder: Option<String>,
    /// The reserved name that it has meanwhile.
    pub temporary: String,
    /// Its stamp.
    pub stamp: Stamp,
}

/// A file under a reserved name that a crash left behind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Leftover {
    /// The folder that it lies in; `None`: the root.
    pub folder: Option<String>,
    /// The name that it had, where that is known.
    pub name: Option<String>,
    /// Its bytes: a version that was to be written, or one that was being replaced.
    pub bytes: Vec<u8>,
}

/// What a program wrote into a file after that was replaced or removed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Late {
    /// The folder that the file was in; `None`: the root.
    pub folder: Option<String>,
    /// Its name.
    pub name: String,
    /// All that is in it now.
    pub bytes: Vec<u8>,
}

/// A folder of files, through open directories.
pub trait Disk: Send + Sync + 'static {
    /// How many folders may be looked into at the same time.
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

    /// Says what lies at a name; `None`: nothing.
    fn look(&self, at: At<'_>, name: &str) -> Result<Option<Entry>, DiskError>;

    /// Reads a regular file of at most `limit` bytes. A file that changes meanwhile is an error.
    fn read(&self, at: At<'_>, name: &str, limit: usize) -> Result<Content, DiskError>;

    /// Writes bytes into a new file under a reserved name.
    fn stage(&self, at: At<'_>, bytes: &[u8], durability: Durability) -> Result<Staged, DiskError>;

    /// Gives a staged file its name, and its stamp under that name. A replaced file's mode is kept.
    ///
    /// After an error the staged file is gone, and what lay at the name lies there still.
    fn publish(&self, staged: Staged, name: &str, expect: Expect) -> Result<Stamp, DiskError>;

    /// Gives a staged file the mode of a file that it is a copy of, so that a copy of what only its owner may
    /// read is not for everybody. Does nothing where that file is not there; a disk may have no modes.
    fn keep_mode(&self, _staged: &Staged, _at: At<'_>, _name: &str) -> Result<(), DiskError> {
        Ok(())
    }

    /// Removes a staged file.
    fn discard(&self, staged: Staged) -> Result<(), DiskError>;

    /// Removes a file that has the stamp that is expected.
    fn remove(&self, at: At<'_>, name: &str, expected: Stamp) -> Result<(), DiskError>;

    /// Renames a file that has the stamp that is expected, to a name where nothing lies. Gives its new stamp.
    fn rename(&self, from: &Place, to: &Place, expected: Stamp) -> Result<Stamp, DiskError>;

    /// Lets two files take each other's places, in one step.
    fn exchange(&self, one: &Place, other: &Place) -> Result<(), DiskError>;

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

    /// Clears up what a crash left behind; only for the holder of the lock. Gives the number of files.
    ///
    /// A file that was being removed gets its name back where that is free. Every other one is shown to
    /// `keep`, which saves what it does not know (it may be an editor's save, caught in an exchange) and
    /// says whether the file may go.
    fn sweep(&self, keep: &mut dyn FnMut(&Leftover) -> bool) -> Result<usize, DiskError>;

    /// What programs wrote into files of at most `limit` bytes after these were replaced or removed, once each.
    ///
    /// `last`: nobody will ask again, so that a file into which more may be on its way is not waited for.
    fn late(&self, last: bool, limit: usize) -> Vec<Late>;
}

#[cfg(test)]
mod tests;
