//! Slots: files on their way into or out of the mirror, in the private folder.
//!
//! A slot is on the same mount as its file's folder, because a rename cannot cross mounts: if a category's folder is a
//! mount of its own, its slots are hidden files within that folder. The purpose of a slot is not known here.

use super::{
    Area, At, DiskError, DiskErrorKind, Durability, Entry, Kind, Slot, Swept, TEMPORARY,
    open::{folder_name, identity, look_in, open_dir, shown},
    real::RealDisk,
};
use crate::drill::failpoint;
use crate::mirror::lock::{PRIVATE_FOLDER, private_folder};
use crate::model::Place;
use rustix::{
    fs::{self, AtFlags, Dir, Mode, OFlags, RenameFlags},
    io::Errno,
};
use std::{
    collections::BTreeMap,
    fs::File,
    io::Write as _,
    os::fd::OwnedFd,
    sync::{Arc, PoisonError},
};

/// The suffix of a replaced file's name while its slot still holds the new file: only if the file system cannot
/// exchange names.
const OLD: &str = ".old";

/// The infix of a displaced file's name, for slots within a category's folder.
const DISPLACED: &str = "displaced-";

/// The prefix of files whose journal entries were lost.
pub(super) const LOST: &str = "lost-";

/// The start of the names of files that no row and no name explains.
pub(super) const FOUND: &str = "found-after-a-crash.";

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
        let private = self.known_private(area);
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
    pub(super) fn known_private(&self, area: Area) -> Option<OwnedFd> {
        let private = open_dir(&self.root, PRIVATE_FOLDER).ok()?;
        open_dir(&private, name_of(area)).ok()
    }

    /// Opens an area of the private folder, and creates it if necessary. `None`: it cannot be created.
    pub(super) fn private(&self, area: Area) -> Result<Option<OwnedFd>, DiskError> {
        let name = name_of(area);
        let fail = |errno| DiskError::from_errno(errno, "open", format!("{PRIVATE_FOLDER}/{name}"));
        let private = match open_dir(&self.root, PRIVATE_FOLDER) {
            Err(Errno::NOENT) if private_folder(self.path()).is_ok() => {
                open_dir(&self.root, PRIVATE_FOLDER)
            }
            other => other,
        };
        let Ok(private) = private else {
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

    /// Moves all files of the stage to the displaced files, where no sweep deletes them.
    pub(super) fn keep_stage(&self) -> Result<usize, DiskError> {
        let Some(stage) = self.known_private(Area::Stage) else {
            return Ok(0);
        };
        let names = names(&stage, name_of(Area::Stage))?;
        let kept = names.iter().map(|name| self.keep_lost(&stage, name));
        kept.sum()
    }

    /// Moves a file of the stage to the displaced files, where no sweep deletes it. Returns the number of moved files.
    fn keep_lost(&self, stage: &OwnedFd, name: &str) -> Result<usize, DiskError> {
        let Some(displaced) = self.private(Area::Displaced)? else {
            return Ok(0);
        };
        let kept = self
            .beside(stage, name, &displaced, &format!("{LOST}{name}"))
            .map_err(|errno| DiskError::from_errno(errno, "clear up", name))?;
        tracing::warn!(
            "a file without a journal entry was moved to {PRIVATE_FOLDER}/displaced/{kept}"
        );
        Ok(1)
    }

    pub(super) fn sweep_folder(
        &self,
        within: At<'_>,
        (known, lost): (&BTreeMap<Slot, Place>, bool),
        swept: &mut Swept,
    ) -> Result<(), DiskError> {
        let folder = self.folder(within, "clear up")?;
        for name in names(&folder, &shown(within, ""))? {
            if let Some(slot) = name.strip_prefix(TEMPORARY) {
                let slot = slot.strip_prefix(DISPLACED).unwrap_or(slot);
                self.sweep_name(&folder, (&name, slot), (known, lost), swept);
            }
        }
        Ok(())
    }

    /// Sweeps one name of the stage, and records a failure. `slot` is the part of the name that identifies its slot.
    pub(super) fn sweep_name(
        &self,
        dir: &OwnedFd,
        (name, slot): (&str, &str),
        known: (&BTreeMap<Slot, Place>, bool),
        swept: &mut Swept,
    ) {
        let number = slot.strip_suffix(OLD).unwrap_or(slot).parse::<Slot>().ok();
        match self.sweep_one(dir, (name, slot), number, known) {
            Ok(count) => swept.count += count,
            Err(error) => {
                tracing::warn!(%error, "cannot clear up what an earlier run left behind");
                swept.failed.extend(number.map(|number| (number, error)));
            }
        }
    }

    fn sweep_one(
        &self,
        dir: &OwnedFd,
        (name, slot): (&str, &str),
        number: Option<Slot>,
        (known, lost): (&BTreeMap<Slot, Place>, bool),
    ) -> Result<usize, DiskError> {
        let fail = |errno| DiskError::from_errno(errno, "clear up", name);
        let place = number.and_then(|number| known.get(&number));
        match (number.is_some(), place) {
            (true, Some(place)) if slot.ends_with(OLD) => {
                return match self.settle_old(dir, name, place) {
                    // Its folder was removed meanwhile.
                    Err(error) if error.kind == DiskErrorKind::NotFound => {
                        self.keep_lost(dir, name)
                    }
                    settled => settled.map(|()| 1),
                };
            }
            (true, Some(_)) => return Ok(0),
            // Only a file of the mirror has such a name.
            (true, None) if slot.ends_with(OLD) && name == slot => {
                return self.keep_lost(dir, name);
            }
            (true, None) if !lost && !slot.ends_with(OLD) => {
                fs::unlinkat(dir, name, AtFlags::empty()).map_err(fail)?;
            }
            // A settings file that was being written.
            (false, _) if slot.starts_with("settings-") => {
                fs::unlinkat(dir, name, AtFlags::empty()).map_err(fail)?;
            }
            // An earlier version of kbsync, which kept no journal, left the file; or its journal entry is lost.
            (true | false, _) => self.give_name(dir, name, slot)?,
        }
        failpoint::pass("disk: leftover removed");
        Ok(1)
    }

    /// Settles a replaced file that still waits for its slot. If the slot holds the new file, the replacement did not
    /// happen. A rename by way of a hard link may have left a second name.
    fn settle_old(&self, dir: &OwnedFd, old: &str, place: &Place) -> Result<(), DiskError> {
        let slot = old.strip_suffix(OLD).unwrap_or(old);
        let settled = || -> Result<(), Errno> {
            let inode = |dir: &OwnedFd, name: &str| -> Result<Option<u64>, Errno> {
                Ok(look_in(dir, name)?.map(|found| found.stamp.inode))
            };
            let Some(staged) = inode(dir, slot)? else {
                return fs::renameat(dir, old, dir, slot);
            };
            let folder = open_dir(&self.root, &place.folder)?;
            let there = inode(&folder, &place.file)?;
            if there == Some(staged) {
                return fs::renameat(dir, old, dir, slot);
            }
            if there.is_some() && there == inode(dir, old)? {
                return fs::unlinkat(dir, old, AtFlags::empty());
            }
            match self.rename_free(dir, old, &folder, &place.file) {
                Err(Errno::EXIST) => self.beside(dir, old, &folder, &place.file).map(drop),
                other => other,
            }
        };
        settled().map_err(|errno| DiskError::from_errno(errno, "clear up", old))
    }

    /// Gives a file that was being removed its name back, or a visible name; likewise a folder whose name was being
    /// changed to another case.
    fn give_name(&self, dir: &OwnedFd, name: &str, slot: &str) -> Result<(), DiskError> {
        let was = slot.split_once("-was-").map(|(_, was)| was);
        let given = || -> Result<(), Errno> {
            let is_empty = |found: Entry| found.kind == Kind::File && found.stamp.size == 0;
            if look_in(dir, name)?.is_some_and(is_empty) {
                return fs::unlinkat(dir, name, AtFlags::empty());
            }
            let freed = was.map(|was| self.rename_free(dir, name, dir, was));
            match freed {
                Some(Err(Errno::EXIST)) | None => {
                    let was = was.map_or_else(|| format!("{FOUND}html"), str::to_owned);
                    self.beside(dir, name, dir, &was).map(drop)
                }
                Some(freed) => freed,
            }
        };
        given().map_err(|errno| DiskError::from_errno(errno, "clear up", name))
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
/// the names, so names that do not exist are enough.
fn reaches(dir: &OwnedFd, folder: &OwnedFd) -> bool {
    let renamed = fs::renameat_with(dir, NOWHERE, folder, NOWHERE, RenameFlags::empty());
    renamed != Err(Errno::XDEV)
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

/// Returns the names in an open folder that are UTF-8.
pub(super) fn names(folder: &OwnedFd, shown: &str) -> Result<Vec<String>, DiskError> {
    let fail = |errno| DiskError::from_errno(errno, "clear up", shown);
    let mut names = Vec::new();
    for found in Dir::read_from(folder).map_err(fail)? {
        let found = found.map_err(fail)?;
        let name = found.file_name();
        if name != c"." && name != c".." {
            names.extend(name.to_str().ok().map(str::to_owned));
        }
    }
    Ok(names)
}
