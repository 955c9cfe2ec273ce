//! The mirror on a real file system: every call is relative to an open directory.
//!
//! The root is opened once; a folder by one name and without following a link, for each call or for the files of a batch.
//! Files beneath an open directory cannot be swapped for a link between a check and its use.
//! Slots are in `slots`, putting files in place is in `place`.

use super::{
    Area, At, Content, Disk, DiskError, DiskErrorKind, Durability, Entry, Expect, Kind, Listing,
    Slot, slots::OpenFolder,
};
use crate::drill::failpoint;
use crate::model::{Place, Stamp};
use rustix::{
    fs::{self, AtFlags, Dir, FileType, Mode, OFlags},
    io::Errno,
};
use std::{
    collections::BTreeMap,
    fs::File,
    io::Read as _,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::Mutex,
};

/// The number of times that a folder is listed again when it changes meanwhile.
const LISTINGS: usize = 4;

/// The number of bytes that are read of a file over the limit.
const FIRST_PART: usize = 128 * 1024;

/// A test's action in the midst of an operation; its argument is the step.
#[cfg(test)]
pub(super) type Act = Box<dyn FnMut(&str) + Send>;

/// A mirror on a file system.
pub struct RealDisk {
    pub(super) root: OwnedFd,
    path: PathBuf,
    /// Device and inode of the root when it was opened.
    identity: (u64, u64),
    /// Whether the file system can neither exchange names nor refuse to replace one.
    pub(super) plain: bool,
    /// The folder that a file was last staged for or put into.
    pub(super) last: Mutex<Option<OpenFolder>>,
    #[cfg(test)]
    pub(super) meanwhile: Mutex<Option<Act>>,
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
            plain: false,
            last: Mutex::default(),
            #[cfg(test)]
            meanwhile: Mutex::new(None),
        })
    }

    /// The path that the mirror was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn folder(&self, at: At<'_>, doing: &'static str) -> Result<OwnedFd, DiskError> {
        open_dir(&self.root, folder_name(at, doing)?)
            .map_err(|errno| DiskError::from_errno(errno, doing, shown(at, "")))
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
        let folder = self.folder(at, "read")?;
        read_in(&folder, single(name, "read")?, &shown(at, name), limit)
    }

    fn holds(&self, folder: &Place, wanted: &dyn Fn(&str) -> bool) -> Result<bool, DiskError> {
        self.holds_below(folder, wanted)
    }

    fn stage(
        &self,
        slot: Slot,
        at: At<'_>,
        bytes: &[u8],
        durability: Durability,
    ) -> Result<(), DiskError> {
        self.write_slot(slot, at, bytes, durability)
    }

    fn keep_mode(&self, slot: Slot, at: At<'_>, like: &Place) -> Result<(), DiskError> {
        self.copy_mode(slot, at, like)
    }

    fn publish(
        &self,
        slot: Slot,
        at: At<'_>,
        name: &str,
        expect: Expect,
    ) -> Result<Stamp, DiskError> {
        self.put_in_place(slot, at, name, expect)
    }

    fn take(&self, slot: Slot, at: At<'_>, name: &str, expect: Expect) -> Result<(), DiskError> {
        self.take_away(slot, at, name, expect)
    }

    fn set_beside(&self, slot: Slot, at: At<'_>, name: &str) -> Result<String, DiskError> {
        self.set_slot_beside(slot, at, name)
    }

    fn look_aside(&self, area: Area, slot: Slot, at: At<'_>) -> Result<Option<Stamp>, DiskError> {
        self.look_at_slot(area, slot, at)
    }

    fn read_aside(
        &self,
        area: Area,
        slot: Slot,
        at: At<'_>,
        limit: usize,
    ) -> Result<Content, DiskError> {
        self.read_slot(area, slot, at, limit)
    }

    fn displace(&self, slot: Slot, at: At<'_>) -> Result<(), DiskError> {
        self.displace_slot(slot, at)
    }

    fn discard(&self, area: Area, slot: Slot, at: At<'_>) -> Result<(), DiskError> {
        self.empty_slot(area, slot, at)
    }

    fn sweep(&self, known: &BTreeMap<Slot, Place>, lost: bool) -> Result<usize, DiskError> {
        self.sweep_slots(known, lost)
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
        self.close_folder();
        let folder = self.folder(at, "flush")?;
        failpoint::pass("disk: before a folder is synced");
        fs::fsync(&folder).map_err(|errno| DiskError::from_errno(errno, "flush", shown(at, "")))?;
        failpoint::pass("disk: folder synced");
        Ok(())
    }

    fn flush(&self) -> Result<(), DiskError> {
        self.close_folder();
        failpoint::pass("disk: before a flush");
        sync_all(&self.root)
            .map_err(|errno| DiskError::from_errno(errno, "flush", "the mirror"))?;
        failpoint::pass("disk: flushed");
        Ok(())
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

/// Returns the name of a folder, as the root knows it.
pub(super) fn folder_name<'n>(at: At<'n>, doing: &'static str) -> Result<&'n str, DiskError> {
    match at {
        At::Root => Ok("."),
        At::Folder(name) => single(name, doing),
    }
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

/// Reads a regular file of an open folder. `path` names it for people.
pub(super) fn read_in(
    folder: &OwnedFd,
    name: &str,
    path: &str,
    limit: usize,
) -> Result<Content, DiskError> {
    let wrong = |kind| DiskError::new(kind, "read", path);
    let fail = |errno| DiskError::from_errno(errno, "read", path);
    // Not blocking, so that a pipe at an article's place cannot hold us up.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = fs::openat(folder, name, flags, Mode::empty());
    let file = file.map(File::from).map_err(fail)?;
    let before = fs::fstat(&file).map_err(fail)?;
    if kind_of(&before) != Kind::File {
        return Err(wrong(DiskErrorKind::WrongKind));
    }
    let stamp = stamp_of(&before);
    let size = usize::try_from(stamp.size).unwrap_or(usize::MAX);
    let whole = size <= limit;
    let wanted = if whole { size } else { FIRST_PART.min(limit) };
    let mut bytes = Vec::with_capacity(wanted + usize::from(whole));
    // One byte more than the file has, so that growth is noticed.
    (&file)
        .take((wanted + usize::from(whole)) as u64)
        .read_to_end(&mut bytes)
        .map_err(|error| DiskError {
            source: Some(error),
            ..wrong(DiskErrorKind::Other)
        })?;
    let after = stamp_of(&fs::fstat(&file).map_err(fail)?);
    if after != stamp || bytes.len() != wanted {
        return Err(wrong(DiskErrorKind::Changed));
    }
    Ok(Content {
        bytes,
        stamp,
        whole,
    })
}

/// Looks at a name in an open folder.
pub(super) fn look_in(folder: &OwnedFd, name: &str) -> Result<Option<Entry>, Errno> {
    match fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(entry(name, &stat))),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// Opens a folder by one name, and never through a link.
pub(super) fn open_dir(within: &OwnedFd, name: &str) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    fs::openat(within, name, flags, Mode::empty())
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

pub(super) fn identity(stat: &fs::Stat) -> (u64, u64) {
    (wide(stat.st_dev), wide(stat.st_ino))
}

/// Widens a number whose type differs between systems.
fn wide<From, To>(number: From) -> To
where
    To: TryFrom<From> + Default,
{
    To::try_from(number).unwrap_or_default()
}
