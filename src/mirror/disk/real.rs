//! The mirror on a real file system: every call is relative to an open directory.
//!
//! The root is opened once. A folder is opened by a single name, without following a link, for each call or for the
//! files of a batch. Below an open directory, nobody can swap a file for a link between a check and its use. `open` has
//! the system calls, `slots` the slots, and `place` puts files in place.

use super::{
    Area, At, Content, Disk, DiskError, DiskErrorKind, Durability, Entry, Expect, Listing, Slot,
    open::{
        entry, folder_name, identity, look_in, open_dir, read_in, shown, single, stamp_of, sync_all,
    },
    slots::{OpenFolder, is_gone, write_new},
};
use crate::drill::failpoint;
use crate::model::{Place, Stamp};
use rustix::{
    fs::{self, AtFlags, Dir, Mode, OFlags},
    io::Errno,
};
use std::{
    collections::BTreeMap,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::Mutex,
};

/// The number of attempts to list a folder that keeps changing.
const LISTINGS: usize = 4;

/// The greatest depth of a search for names within a category's folder: the result only serves a warning.
const DEEPEST: usize = 8;

/// The most names examined in one search.
const MOST: usize = 20_000;

/// A test's action in the middle of an operation; its argument is the step.
#[cfg(test)]
pub(super) type Act = Box<dyn FnMut(&str) + Send>;

/// A mirror on a file system.
pub struct RealDisk {
    pub(super) root: OwnedFd,
    path: PathBuf,
    /// Device and inode of the root when it was opened.
    identity: (u64, u64),
    /// Whether the file system can neither exchange names nor refuse to replace a name.
    pub(super) plain: bool,
    /// The folder that was opened last for a staged or published file.
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
    /// Opens a mirror by its path. A missing folder is an error; it is never created here.
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

    /// The path by which the mirror was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn folder(&self, at: At<'_>, doing: &'static str) -> Result<OwnedFd, DiskError> {
        open_dir(&self.root, folder_name(at, doing)?)
            .map_err(|errno| DiskError::from_errno(errno, doing, shown(at, "")))
    }

    /// Checks that the path still leads to the open mirror: a mirror that was moved away or unmounted must not be taken
    /// for an empty one.
    fn check_root(&self, doing: &'static str) -> Result<(), DiskError> {
        let path = || self.path.display().to_string();
        match fs::stat(&self.path) {
            Ok(found) if identity(&found) == self.identity => Ok(()),
            Ok(_) | Err(Errno::NOENT | Errno::NOTDIR) => {
                Err(DiskError::new(DiskErrorKind::Replaced, doing, path()))
            }
            Err(errno) => Err(DiskError::from_errno(errno, doing, path())),
        }
    }

    /// Opens one folder on each other file system: a category's folder may be a mount of its own.
    pub(super) fn mounts(&self) -> Result<BTreeMap<u64, OwnedFd>, Errno> {
        let mut mounts = BTreeMap::new();
        for found in Dir::read_from(&self.root)? {
            let found = found?;
            let name = found.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            let stat = fs::statat(&self.root, name, AtFlags::SYMLINK_NOFOLLOW);
            let device = stat.map_or(self.identity.0, |stat| identity(&stat).0);
            let is_known = device == self.identity.0 || mounts.contains_key(&device);
            let Some(name) = name.to_str().ok().filter(|_| !is_known) else {
                continue;
            };
            // Nothing was written into a folder that cannot be opened.
            if let Ok(folder) = open_dir(&self.root, name) {
                mounts.insert(device, folder);
            }
        }
        Ok(mounts)
    }

    fn list_once(&self, at: At<'_>) -> Result<Option<Listing>, DiskError> {
        let fail = |errno| DiskError::from_errno(errno, "list", shown(at, ""));
        let folder = self.folder(at, "list")?;
        let stat = fs::fstat(&folder).map_err(fail)?;
        let before = stamp_of(&stat);
        let mut listing = Listing {
            is_mount: identity(&stat).0 != self.identity.0,
            ..Listing::default()
        };
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
                // The entry is gone since the folder was read: the folder has changed and is listed again.
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

    fn look(&self, at: At<'_>, name: &str) -> Result<Option<Entry>, DiskError> {
        let folder = self.folder(at, "look at")?;
        look_in(&folder, single(name, "look at")?)
            .map_err(|errno| DiskError::from_errno(errno, "look at", shown(at, name)))
    }

    fn read(&self, at: At<'_>, name: &str, limit: usize) -> Result<Content, DiskError> {
        let folder = self.folder(at, "read")?;
        read_in(&folder, single(name, "read")?, &shown(at, name), limit)
    }

    fn holds(&self, folder: &Place, wanted: &dyn Fn(&str) -> bool) -> bool {
        let is_wanted = |found: ignore::DirEntry| {
            found.file_type().is_some_and(|kind| kind.is_file())
                && found.file_name().to_str().is_some_and(wanted)
        };
        let top = self.path.join(&folder.folder).join(&folder.file);
        let mut walk = ignore::WalkBuilder::new(top);
        walk.standard_filters(false).hidden(true);
        walk.max_depth(Some(DEEPEST));
        walk.build().flatten().take(MOST).any(is_wanted)
    }

    fn stage(
        &self,
        slot: Slot,
        at: At<'_>,
        bytes: &[u8],
        durability: Durability,
    ) -> Result<(), DiskError> {
        let aside = self.open_folder(at, "write into")?.slot(slot);
        write_new(&aside, bytes, durability).map_err(|error| {
            // The first error counts; a file that cannot be removed now is swept later.
            let _swept_later = fs::unlinkat(&aside.dir, &aside.name, AtFlags::empty());
            match Errno::from_io_error(&error) {
                Some(errno) => DiskError::from_errno(errno, "write into", shown(at, "")),
                None => DiskError {
                    source: Some(error),
                    ..DiskError::new(DiskErrorKind::Other, "write into", shown(at, ""))
                },
            }
        })
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

    fn set_beside(
        &self,
        area: Area,
        slot: Slot,
        at: At<'_>,
        name: &str,
    ) -> Result<String, DiskError> {
        let folder = self.folder(at, "write beside")?;
        let name = single(name, "write beside")?;
        let aside = self.known_aside(area, slot, at)?;
        self.beside(&aside.dir, &aside.name, &folder, name)
            .map_err(|errno| DiskError::from_errno(errno, "write beside", shown(at, name)))
    }

    fn look_aside(&self, area: Area, slot: Slot, at: At<'_>) -> Result<Option<Stamp>, DiskError> {
        let aside = match self.known_aside(area, slot, at) {
            Err(error) if is_gone(&error) => return Ok(None),
            aside => aside?,
        };
        let fail = |errno| DiskError::from_errno(errno, "look at", &aside.name);
        if area == Area::Stage && look_in(&aside.dir, &aside.old()).map_err(fail)?.is_some() {
            // A replacement is half done, and the slot does not show it.
            return Err(fail(Errno::EXIST));
        }
        let found = look_in(&aside.dir, &aside.name).map_err(fail)?;
        Ok(found.map(|found| found.stamp))
    }

    fn read_aside(
        &self,
        area: Area,
        slot: Slot,
        at: At<'_>,
        limit: usize,
    ) -> Result<Content, DiskError> {
        let aside = self.known_aside(area, slot, at)?;
        read_in(&aside.dir, &aside.name, &aside.name, limit)
    }

    fn displace(&self, slot: Slot, at: At<'_>) -> Result<(), DiskError> {
        // Creates the folder, because the lookup below does not.
        drop(self.private(Area::Displaced)?);
        let from = self.known_aside(Area::Stage, slot, at)?;
        let to = self.known_aside(Area::Displaced, slot, at)?;
        failpoint::pass("disk: before a file is displaced");
        fs::renameat(&from.dir, &from.name, &to.dir, &to.name)
            .map_err(|errno| DiskError::from_errno(errno, "move away", &from.name))?;
        failpoint::pass("disk: file displaced");
        Ok(())
    }

    fn discard(&self, area: Area, slot: Slot, at: At<'_>) -> Result<(), DiskError> {
        let aside = match self.known_aside(area, slot, at) {
            Err(error) if is_gone(&error) => return Ok(()),
            aside => aside?,
        };
        failpoint::pass("disk: before a slot is emptied");
        match fs::unlinkat(&aside.dir, &aside.name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(DiskError::from_errno(errno, "remove", &aside.name)),
        }
    }

    fn sweep(&self, known: &BTreeMap<Slot, Place>, lost: bool) -> usize {
        self.sweep_all(known, lost)
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

    fn sync_file(&self, at: At<'_>, name: &str) -> Result<(), DiskError> {
        let name = single(name, "flush")?;
        let folder = open_dir(&self.root, folder_name(at, "flush")?);
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let synced = folder.and_then(|folder| {
            fs::fsync(fs::openat(&folder, name, flags, Mode::empty())?)?;
            fs::fsync(&folder)
        });
        match synced {
            Err(errno @ (Errno::IO | Errno::NOSPC | Errno::DQUOT)) => {
                Err(DiskError::from_errno(errno, "flush", shown(at, name)))
            }
            // There is no file, or this file system cannot sync a file that is open for reading.
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn flush(&self) -> Result<(), DiskError> {
        self.close_folder();
        failpoint::pass("disk: before a flush");
        let fail = |errno| DiskError::from_errno(errno, "flush", "the mirror");
        sync_all(&self.root).map_err(fail)?;
        let mounts = self.mounts().map_err(fail)?;
        mounts.values().try_for_each(sync_all).map_err(fail)?;
        failpoint::pass("disk: flushed");
        Ok(())
    }
}
