//! Slots: files on their way into or out of the mirror, in the private folder.
//!
//! A slot is on the same mount as its file's folder, because a rename cannot cross mounts: if a category's folder is a
//! mount of its own, its slots are hidden files within that folder. The purpose of a slot is not known here.

use super::{
    Area, At, DiskError, DiskErrorKind, Durability, Slot, TEMPORARY,
    open::{folder_name, identity, open_dir, shown},
    real::RealDisk,
};
use crate::drill::failpoint;
use crate::mirror::lock::private_folder;
use crate::model::path::PRIVATE_FOLDER;
use rustix::{
    fs::{self, AtFlags, Mode, OFlags, RenameFlags},
    io::Errno,
};
use std::{
    fs::File,
    io::Write as _,
    os::fd::OwnedFd,
    sync::{Arc, PoisonError},
};

/// The suffix of a replaced file's name while its slot still holds the new file: only if the file system cannot
/// exchange names.
pub(super) const OLD: &str = ".old";

/// The infix of a displaced file's name, for slots within a category's folder.
pub(super) const DISPLACED: &str = "displaced-";

/// A name that no file has.
const NOWHERE: &str = ".kbsync-nowhere";

/// A slot as a folder and a name.
pub(super) struct Aside {
    pub(super) dir: Arc<OwnedFd>,
    pub(super) name: String,
}

/// The slots of one area for the files of a folder.
#[derive(Clone)]
struct Slots {
    dir: Arc<OwnedFd>,
    /// The prefix of the names; empty in the private folder.
    prefix: String,
}

impl Slots {
    fn slot(&self, slot: Slot) -> Aside {
        Aside {
            dir: self.dir.clone(),
            name: format!("{}{slot}", self.prefix),
        }
    }
}

/// A folder of the mirror and its slots in the stage; both are open.
#[derive(Clone)]
pub(super) struct OpenFolder {
    name: String,
    pub(super) dir: Arc<OwnedFd>,
    stage: Slots,
    identities: [(u64, u64); 2],
}

impl OpenFolder {
    /// The slot in the stage for a file of the folder.
    pub(super) fn slot(&self, slot: Slot) -> Aside {
        self.stage.slot(slot)
    }
}

impl Aside {
    /// The name of the replaced file until its slot is free.
    pub(super) fn old(&self) -> String {
        format!("{}{OLD}", self.name)
    }
}

impl RealDisk {
    /// Opens a folder and its slots in the stage. The last folder stays open for the other files of a batch, as long as
    /// both names still lead to the open folders.
    pub(super) fn open_folder(
        &self,
        within: At<'_>,
        doing: &'static str,
    ) -> Result<OpenFolder, DiskError> {
        let name = folder_name(within, doing)?;
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let is_open = |folder: &&OpenFolder| folder.name == name && self.is_in_place(folder);
        if let Some(folder) = last.as_ref().filter(is_open) {
            return Ok(folder.clone());
        }
        let dir = Arc::new(self.folder(within, doing)?);
        let fail = |errno| DiskError::from_errno(errno, doing, shown(within, ""));
        let stage = slots_of(Area::Stage, self.private(Area::Stage)?, &dir);
        let opened = [&dir, &stage.dir].map(|dir| fs::fstat(dir).map(|stat| identity(&stat)));
        let [folder_is, stage_is] = opened;
        let folder = OpenFolder {
            name: name.to_owned(),
            dir,
            stage,
            identities: [folder_is.map_err(fail)?, stage_is.map_err(fail)?],
        };
        Ok(last.insert(folder).clone())
    }

    /// Closes the folder that was opened last.
    pub(super) fn close_folder(&self) {
        self.last
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
    }

    /// Returns whether the names of an open folder and of its slots still lead to them.
    fn is_in_place(&self, folder: &OpenFolder) -> bool {
        let stage = format!("{PRIVATE_FOLDER}/{}", name_of(Area::Stage));
        let slots = if folder.stage.prefix.is_empty() {
            &stage
        } else {
            &folder.name
        };
        let names = [&folder.name, slots];
        let mut pairs = names.into_iter().zip(folder.identities);
        pairs.all(|(name, was)| {
            let found = fs::statat(&self.root, name, AtFlags::SYMLINK_NOFOLLOW);
            found.is_ok_and(|stat| identity(&stat) == was)
        })
    }

    /// The slot of a file whose folder may be gone: then the slot is in the private folder. Nothing is created.
    pub(super) fn known_aside(
        &self,
        area: Area,
        slot: Slot,
        within: At<'_>,
    ) -> Result<Aside, DiskError> {
        let private = self.known_private(area)?;
        match self.folder(within, "look at") {
            Ok(folder) => Ok(slots_of(area, private, &Arc::new(folder)).slot(slot)),
            Err(gone) => {
                let dir = private.filter(|_| is_gone(&gone)).map(Arc::new);
                let name = slot.to_string();
                dir.map(|dir| Aside { dir, name }).ok_or(gone)
            }
        }
    }

    /// Opens an area of the private folder, if the area exists.
    pub(super) fn known_private(&self, area: Area) -> Result<Option<OwnedFd>, DiskError> {
        let name = name_of(area);
        let fail = |errno| DiskError::from_errno(errno, "open", format!("{PRIVATE_FOLDER}/{name}"));
        let opened = open_dir(&self.root, PRIVATE_FOLDER);
        let Some(private) = unless_unusable(opened).map_err(fail)? else {
            return Ok(None);
        };
        match open_dir(&private, name) {
            Err(Errno::NOENT) => Ok(None),
            opened => opened.map(Some).map_err(fail),
        }
    }

    /// Opens an area of the private folder, and creates it if necessary. `None`: it cannot be created.
    pub(super) fn private(&self, area: Area) -> Result<Option<OwnedFd>, DiskError> {
        let name = name_of(area);
        let fail = |errno| DiskError::from_errno(errno, "open", format!("{PRIVATE_FOLDER}/{name}"));
        let opened = match open_dir(&self.root, PRIVATE_FOLDER) {
            Err(Errno::NOENT) if private_folder(self.path()).is_ok() => {
                open_dir(&self.root, PRIVATE_FOLDER)
            }
            other => other,
        };
        let Some(private) = unless_unusable(opened).map_err(fail)? else {
            return Ok(None);
        };
        match open_dir(&private, name) {
            Err(Errno::NOENT) => {}
            other => return other.map(Some).map_err(fail),
        }
        match fs::mkdirat(&private, name, Mode::from_raw_mode(0o700)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(Errno::ACCESS | Errno::PERM) => return Ok(None),
            Err(errno) => return Err(fail(errno)),
        }
        fs::fsync(&private).map_err(fail)?;
        failpoint::pass("disk: private folder made");
        open_dir(&private, name).map(Some).map_err(fail)
    }

    /// Renames a file to a free name beside another file.
    pub(super) fn beside(
        &self,
        dir: &OwnedFd,
        old: &str,
        folder: &OwnedFd,
        name: &str,
    ) -> Result<String, Errno> {
        for number in 1..=1_000_u32 {
            let beside = super::beside_name(name, number);
            match self.rename_free(dir, old, folder, &beside) {
                Ok(()) => return Ok(beside),
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
        }
        Err(Errno::EXIST)
    }
}

/// Returns the private folder; `None`: it is missing, or no folder that we may use, so slots are in the categories'
/// folders. A failure that may pass, such as too many open files, is an error: it moves no slot.
pub(super) fn unless_unusable(opened: Result<OwnedFd, Errno>) -> Result<Option<OwnedFd>, Errno> {
    match opened {
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS | Errno::PERM) => Ok(None),
        opened => opened.map(Some),
    }
}

/// Returns whether an error means that a folder is gone.
pub(super) fn is_gone(error: &DiskError) -> bool {
    error.kind == DiskErrorKind::NotFound || error.kind == DiskErrorKind::WrongKind
}

/// Returns the slots of an area for the files of an open folder: in the private folder, if both are on the same mount.
fn slots_of(area: Area, private: Option<OwnedFd>, folder: &Arc<OwnedFd>) -> Slots {
    if let Some(dir) = private.filter(|dir| reaches(dir, folder)) {
        let (dir, prefix) = (Arc::new(dir), String::new());
        return Slots { dir, prefix };
    }
    let mark = match area {
        Area::Stage => "",
        Area::Displaced => DISPLACED,
    };
    Slots {
        dir: folder.clone(),
        prefix: format!("{TEMPORARY}{mark}"),
    }
}

pub(super) fn name_of(area: Area) -> &'static str {
    match area {
        Area::Stage => "stage",
        Area::Displaced => "displaced",
    }
}

/// Returns whether a file can be renamed from one folder to another. The kernel compares the mounts before it looks up
/// the names, so names that do not exist are enough. A subvolume of btrfs is on the same mount, but another device.
fn reaches(dir: &OwnedFd, folder: &OwnedFd) -> bool {
    let device = |dir: &OwnedFd| fs::fstat(dir).map(|stat| stat.st_dev);
    let renamed = fs::renameat_with(dir, NOWHERE, folder, NOWHERE, RenameFlags::empty());
    device(dir) == device(folder) && renamed != Err(Errno::XDEV)
}

pub(super) fn write_new(
    aside: &Aside,
    bytes: &[u8],
    durability: Durability,
) -> std::io::Result<()> {
    let (dir, name) = (&aside.dir, &aside.name);
    failpoint::pass("disk: before a file is staged");
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(0o644);
    let mut file = match fs::openat(dir, name, flags, mode) {
        // A leftover that nobody knows: each number is used once.
        Err(Errno::EXIST) => {
            fs::unlinkat(dir, name, AtFlags::empty())?;
            File::from(fs::openat(dir, name, flags, mode)?)
        }
        other => File::from(other?),
    };
    failpoint::pass("disk: staged file made");
    file.write_all(bytes)?;
    failpoint::pass("disk: staged file written");
    if durability == Durability::Now {
        file.sync_all()?;
        fs::fsync(dir)?;
    }
    failpoint::pass("disk: staged file durable");
    Ok(())
}
