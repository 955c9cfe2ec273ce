//! The mirror on a real file system: every call is relative to an open directory.
//!
//! The root is opened once; a folder is opened for each call, by one name and without following a link.
//! What is beneath an open directory cannot be swapped for a link between a check and its use.
//! Putting files in place is in `place`, clearing up after a crash in `rescue`.

use super::{
    At, Content, Disk, DiskError, DiskErrorKind, Durability, Entry, Expect, Kind, Late, Leftover,
    Listing, Staged, TEMPORARY, late::Displaced,
};
use crate::drill::failpoint;
use crate::model::{Place, Stamp};
use rustix::{
    fs::{self, AtFlags, Dir, FileType, Mode, OFlags},
    io::Errno,
};
use std::{
    fs::File,
    io::{Read as _, Write as _},
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

/// How often a folder is listed again when it changes meanwhile.
const LISTINGS: usize = 4;

/// How much is read of a file that is over the limit.
const FIRST_PART: usize = 128 * 1024;

/// What a test does in the midst of an operation; it is told the step.
#[cfg(test)]
pub(super) type Act = Box<dyn FnMut(&str) + Send>;

/// A mirror on a file system.
pub struct RealDisk {
    pub(super) root: OwnedFd,
    path: PathBuf,
    /// Device and inode of the root when it was opened.
    identity: (u64, u64),
    staged: AtomicU64,
    pub(super) displaced: Displaced,
    /// Whether the file system can neither exchange names nor refuse to replace one.
    pub(super) plain: bool,
    #[cfg(test)]
    pub(super) meanwhile: std::sync::Mutex<Option<Act>>,
}

impl std::fmt::Debug for RealDisk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("RealDisk").field(&self.path).finish()
    }
}

impl RealDisk {
    /// Opens a mirror by its path. A missing folder is an error; it is never made here.
    pub fn open(path: &Path) -> Result<Self, DiskError> {
        let fail = |errno| DiskError::from_errno(errno, "open", path.display().to_string());
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = fs::open(path, flags, Mode::empty()).map_err(fail)?;
        let identity = identity(&fs::fstat(&root).map_err(fail)?);
        Ok(Self {
            root,
            path: path.to_owned(),
            identity,
            staged: AtomicU64::new(0),
            displaced: Displaced::default(),
            plain: false,
            #[cfg(test)]
            meanwhile: std::sync::Mutex::new(None),
        })
    }

    /// The path that the mirror was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn folder(&self, at: At<'_>, doing: &'static str) -> Result<OwnedFd, DiskError> {
        let name = match at {
            At::Root => ".",
            At::Folder(name) => single(name, doing)?,
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        fs::openat(&self.root, name, flags, Mode::empty())
            .map_err(|errno| DiskError::from_errno(errno, doing, shown(at, "")))
    }

    /// Gives a reserved name that was not given before by this process.
    pub(super) fn reserve(&self, middle: &str) -> String {
        let number = self.staged.fetch_add(1, Ordering::Relaxed);
        format!("{TEMPORARY}{middle}{:x}-{number:x}", std::process::id())
    }

    /// Makes sure that the mirror is still what lies at its path: a folder that was moved away or
    /// unmounted must not be taken for an empty one.
    fn check_root(&self, doing: &'static str) -> Result<(), DiskError> {
        match fs::stat(&self.path) {
            Ok(found) if identity(&found) == self.identity => Ok(()),
            Ok(_) | Err(Errno::NOENT | Errno::NOTDIR) => Err(DiskError::new(
                DiskErrorKind::Replaced,
                doing,
                self.path.display().to_string(),
            )),
            Err(errno) => Err(DiskError::from_errno(
                errno,
                doing,
                self.path.display().to_string(),
            )),
        }
    }

    fn list_once(&self, at: At<'_>) -> Result<Option<Listing>, DiskError> {
        let fail = |errno| DiskError::from_errno(errno, "list", shown(at, ""));
        let folder = self.folder(at, "list")?;
        let before = stamp_of(&fs::fstat(&folder).map_err(fail)?);
        let mut listing = Listing::default();
        for found in Dir::read_from(&folder).map_err(fail)? {
            let found = found.map_err(fail)?;
            let name = found.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            match fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => match name.to_str() {
                    Ok(name) => listing.entries.push(entry(name, &stat)),
                    Err(_not_utf8) => listing.odd_names.push(name.to_string_lossy().into_owned()),
                },
                // Gone since the folder was read: then the folder has changed, and is listed again.
                Err(Errno::NOENT) => return Ok(None),
                Err(errno) => return Err(fail(errno)),
            }
        }
        let after = stamp_of(&fs::fstat(&folder).map_err(fail)?);
        Ok((before == after).then_some(listing))
    }

    fn open_file(&self, at: At<'_>, name: &str) -> Result<File, DiskError> {
        let folder = self.folder(at, "read")?;
        // Not blocking, so that a pipe at an article's place cannot hold us up.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        fs::openat(&folder, single(name, "read")?, flags, Mode::empty())
            .map(File::from)
            .map_err(|errno| DiskError::from_errno(errno, "read", shown(at, name)))
    }

    fn write_new(
        &self,
        folder: &OwnedFd,
        bytes: &[u8],
        durability: Durability,
    ) -> std::io::Result<(String, Stamp)> {
        failpoint::pass("disk: before a temporary file");
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let (temporary, mut file) = loop {
            let name = self.reserve("");
            match fs::openat(folder, &name, flags, Mode::from_raw_mode(0o644)) {
                Ok(file) => break (name, File::from(file)),
                // Left behind by a process that had our number.
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
        };
        failpoint::pass("disk: temporary file made");
        let written = file.write_all(bytes).and_then(|()| {
            failpoint::pass("disk: temporary file written");
            match durability {
                Durability::Now => file.sync_all(),
                Durability::Later => Ok(()),
            }
        });
        failpoint::pass("disk: temporary file durable");
        let stamp = written.and_then(|()| Ok(stamp_of(&fs::fstat(&file)?)));
        match stamp {
            Ok(stamp) => Ok((temporary, stamp)),
            Err(error) => {
                // The first error counts; what cannot be removed now is swept later.
                let _swept_later = fs::unlinkat(folder, &temporary, AtFlags::empty());
                Err(error)
            }
        }
    }
}

impl Disk for RealDisk {
    fn list(&self, at: At<'_>) -> Result<Listing, DiskError> {
        self.check_root("list")?;
        for _ in 0..LISTINGS {
            if let Some(listing) = self.list_once(at)? {
                return Ok(listing);
            }
        }
        Err(DiskError::new(
            DiskErrorKind::Changed,
            "list",
            shown(at, ""),
        ))
    }

    fn root_stamp(&self) -> Result<Stamp, DiskError> {
        let found = fs::fstat(&self.root)
            .map_err(|errno| DiskError::from_errno(errno, "look at", shown(At::Root, "")))?;
        Ok(stamp_of(&found))
    }

    fn look(&self, at: At<'_>, name: &str) -> Result<Option<Entry>, DiskError> {
        let folder = self.folder(at, "look at")?;
        look_in(&folder, single(name, "look at")?)
            .map_err(|errno| DiskError::from_errno(errno, "look at", shown(at, name)))
    }

    fn read(&self, at: At<'_>, name: &str, limit: usize) -> Result<Content, DiskError> {
        let file = self.open_file(at, name)?;
        let fail = |errno| DiskError::from_errno(errno, "read", shown(at, name));
        let before = fs::fstat(&file).map_err(fail)?;
        if kind_of(&before) != Kind::File {
            return Err(DiskError::new(
                DiskErrorKind::WrongKind,
                "read",
                shown(at, name),
            ));
        }
        let stamp = stamp_of(&before);
        let size = usize::try_from(stamp.size).unwrap_or(usize::MAX);
        let whole = size <= limit;
        let wanted = if whole { size } else { FIRST_PART.min(limit) };
        let mut bytes = Vec::with_capacity(wanted + usize::from(whole));
        // One byte more than the file has, so that one that grows is noticed.
        (&file)
            .take((wanted + usize::from(whole)) as u64)
            .read_to_end(&mut bytes)
            .map_err(|error| DiskError {
                source: Some(error),
                ..DiskError::new(DiskErrorKind::Other, "read", shown(at, name))
            })?;
        let after = stamp_of(&fs::fstat(&file).map_err(fail)?);
        if after != stamp || bytes.len() != wanted {
            return Err(DiskError::new(
                DiskErrorKind::Changed,
                "read",
                shown(at, name),
            ));
        }
        Ok(Content {
            bytes,
            stamp,
            whole,
        })
    }

    fn stage(&self, at: At<'_>, bytes: &[u8], durability: Durability) -> Result<Staged, DiskError> {
        let folder = self.folder(at, "write into")?;
        let (temporary, stamp) = self
            .write_new(&folder, bytes, durability)
            .map_err(|error| match Errno::from_io_error(&error) {
                Some(errno) => DiskError::from_errno(errno, "write into", shown(at, "")),
                None => DiskError {
                    source: Some(error),
                    ..DiskError::new(DiskErrorKind::Other, "write into", shown(at, ""))
                },
            })?;
        let folder = match at {
            At::Root => None,
            At::Folder(name) => Some(name.to_owned()),
        };
        Ok(Staged {
            folder,
            temporary,
            stamp,
        })
    }

    fn holds(&self, folder: &Place, wanted: &dyn Fn(&str) -> bool) -> Result<bool, DiskError> {
        self.holds_below(folder, wanted)
    }

    fn publish(&self, staged: Staged, name: &str, expect: Expect) -> Result<Stamp, DiskError> {
        self.put_in_place(&staged, name, expect)
    }

    fn keep_mode(&self, staged: &Staged, like: At<'_>, name: &str) -> Result<(), DiskError> {
        self.copy_mode(staged, like, name)
    }

    fn discard(&self, staged: Staged) -> Result<(), DiskError> {
        let at = at(staged.folder.as_deref());
        let folder = self.folder(at, "remove")?;
        failpoint::pass("disk: before a temporary file is discarded");
        fs::unlinkat(&folder, &staged.temporary, AtFlags::empty())
            .map_err(|errno| DiskError::from_errno(errno, "remove", shown(at, &staged.temporary)))
    }

    fn remove(&self, at: At<'_>, name: &str, expected: Stamp) -> Result<(), DiskError> {
        self.take_away(at, name, expected)
    }

    fn rename(&self, from: &Place, to: &Place, expected: Stamp) -> Result<Stamp, DiskError> {
        self.rename_file(from, to, expected)
    }

    fn exchange(&self, one: &Place, other: &Place) -> Result<(), DiskError> {
        self.exchange_files(one, other)
    }

    fn create_folder(&self, name: &str) -> Result<(), DiskError> {
        failpoint::pass("disk: before a folder is made");
        fs::mkdirat(
            &self.root,
            single(name, "make")?,
            Mode::from_raw_mode(0o755),
        )
        .map_err(|errno| DiskError::from_errno(errno, "make", name))?;
        failpoint::pass("disk: folder made");
        Ok(())
    }

    fn rename_folder(&self, from: &str, to: &str) -> Result<(), DiskError> {
        self.rename_whole_folder(from, to)
    }

    fn remove_folder(&self, name: &str) -> Result<(), DiskError> {
        failpoint::pass("disk: before a folder is removed");
        fs::unlinkat(&self.root, single(name, "remove")?, AtFlags::REMOVEDIR)
            .map_err(|errno| DiskError::from_errno(errno, "remove", name))?;
        failpoint::pass("disk: folder removed");
        Ok(())
    }

    fn sync_folder(&self, at: At<'_>) -> Result<(), DiskError> {
        let folder = self.folder(at, "flush")?;
        failpoint::pass("disk: before a folder is synced");
        fs::fsync(&folder).map_err(|errno| DiskError::from_errno(errno, "flush", shown(at, "")))?;
        failpoint::pass("disk: folder synced");
        Ok(())
    }

    fn flush(&self) -> Result<(), DiskError> {
        failpoint::pass("disk: before a flush");
        sync_all(&self.root)
            .map_err(|errno| DiskError::from_errno(errno, "flush", "the mirror"))?;
        failpoint::pass("disk: flushed");
        Ok(())
    }

    fn sweep(&self, keep: &mut dyn FnMut(&Leftover) -> bool) -> Result<usize, DiskError> {
        self.clear_up(keep)
    }

    fn late(&self, last: bool, limit: usize) -> Vec<Late> {
        self.displaced.look(last, limit)
    }
}

#[cfg(target_os = "linux")]
fn sync_all(root: &OwnedFd) -> Result<(), Errno> {
    fs::syncfs(root)
}

#[cfg(not(target_os = "linux"))]
fn sync_all(root: &OwnedFd) -> Result<(), Errno> {
    fs::sync();
    fs::fsync(root)
}

/// Lets only a single component pass.
pub(super) fn single<'n>(name: &'n str, doing: &'static str) -> Result<&'n str, DiskError> {
    let bad = name.is_empty()
        || name == "."
        || name == ".."
        || name.len() > 255
        || name.contains(['/', '\0']);
    if bad {
        return Err(DiskError::new(
            DiskErrorKind::BadName,
            doing,
            format!("{name:?}"),
        ));
    }
    Ok(name)
}

/// Looks at a name in an open folder.
pub(super) fn look_in(folder: &OwnedFd, name: &str) -> Result<Option<Entry>, Errno> {
    match fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(entry(name, &stat))),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno),
    }
}

pub(super) fn at(folder: Option<&str>) -> At<'_> {
    folder.map_or(At::Root, At::Folder)
}

/// Names a path for people.
pub(super) fn shown(at: At<'_>, name: &str) -> String {
    match (at, name) {
        (At::Root, "") => "the mirror".to_owned(),
        (At::Root, name) => name.to_owned(),
        (At::Folder(folder), "") => folder.to_owned(),
        (At::Folder(folder), name) => format!("{folder}/{name}"),
    }
}

fn entry(name: &str, stat: &fs::Stat) -> Entry {
    Entry {
        name: name.to_owned(),
        kind: kind_of(stat),
        stamp: stamp_of(stat),
    }
}

fn kind_of(stat: &fs::Stat) -> Kind {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Folder,
        FileType::Symlink => Kind::Link,
        FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => Kind::Other,
    }
}

pub(super) fn stamp_of(stat: &fs::Stat) -> Stamp {
    let nanos =
        |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
    Stamp {
        size: wide(stat.st_size),
        mtime: nanos(wide(stat.st_mtime), wide(stat.st_mtime_nsec)),
        ctime: nanos(wide(stat.st_ctime), wide(stat.st_ctime_nsec)),
        inode: wide(stat.st_ino),
    }
}

fn identity(stat: &fs::Stat) -> (u64, u64) {
    (wide(stat.st_dev), wide(stat.st_ino))
}

/// Widens a number whose type differs between systems.
fn wide<From, To>(number: From) -> To
where
    To: TryFrom<From> + Default,
{
    To::try_from(number).unwrap_or_default()
}
