//! The sweep: clears up what killed runs left in the slots.
//!
//! No text goes: a file that nobody knows is deleted only if its slot was never in the journal that is there. What
//! cannot be cleared up is logged, and the rest is swept all the same. A replaced file that still waits for its slot
//! keeps the journal entry open, because [`super::Disk::look_aside`] refuses such a slot.

use super::{
    Area, At, Disk as _, DiskError, DiskErrorKind, Entry, Kind, Slot, TEMPORARY,
    open::{look_in, open_dir, shown},
    real::RealDisk,
    slots::{DISPLACED, OLD, name_of},
};
use crate::drill::failpoint;
use crate::model::{Place, path::PRIVATE_FOLDER};
use rustix::{
    fs::{self, AtFlags, Dir},
    io::Errno,
};
use std::{collections::BTreeMap, os::fd::OwnedFd};

/// The start of the names of files that no row and no name explains.
const FOUND: &str = "found-after-a-crash.";

/// A sweep under way.
struct Sweep<'k> {
    /// The slots in the journal, and the places of their files.
    known: &'k BTreeMap<Slot, Place>,
    /// Whether the journal may have gone with the state.
    lost: bool,
    /// The number of files that were cleared up.
    count: usize,
}

impl RealDisk {
    /// See [`super::Disk::sweep`].
    pub(super) fn sweep_all(&self, known: &BTreeMap<Slot, Place>, lost: bool) -> usize {
        let count = 0;
        let mut sweep = Sweep { known, lost, count };
        if let Err(error) = self.sweep_areas_and_folders(&mut sweep) {
            stays(&error);
        }
        sweep.count
    }

    fn sweep_areas_and_folders(&self, sweep: &mut Sweep<'_>) -> Result<(), DiskError> {
        for area in [Area::Stage, Area::Displaced] {
            if let Err(error) = self.sweep_area(area, sweep) {
                stays(&error);
            }
        }
        self.sweep_folder(At::Root, sweep)?;
        for entry in self.list(At::Root)?.entries {
            if entry.kind != Kind::Folder || entry.name.starts_with('.') {
                continue;
            }
            match self.sweep_folder(At::Folder(&entry.name), sweep) {
                Ok(()) => {}
                // An unreadable folder is swept another time; the scan reports it.
                Err(error)
                    if error.kind == DiskErrorKind::Denied
                        || error.kind == DiskErrorKind::NotFound => {}
                // What waits in another folder does not wait for this one.
                Err(error) => stays(&error),
            }
        }
        Ok(())
    }

    fn sweep_area(&self, area: Area, sweep: &mut Sweep<'_>) -> Result<(), DiskError> {
        let Some(dir) = self.known_private(area)? else {
            return Ok(());
        };
        for name in names(&dir, name_of(area))? {
            // A file that was kept for a person is no leftover.
            if !name.starts_with(FOUND) {
                self.sweep_name(&dir, &name, area, sweep);
            }
        }
        Ok(())
    }

    fn sweep_folder(&self, within: At<'_>, sweep: &mut Sweep<'_>) -> Result<(), DiskError> {
        let folder = self.folder(within, "clear up")?;
        for name in names(&folder, &shown(within, ""))? {
            let slot = name.strip_prefix(TEMPORARY);
            let area = match slot.map(|slot| slot.starts_with(DISPLACED)) {
                Some(true) => Area::Displaced,
                Some(false) => Area::Stage,
                None => continue,
            };
            self.sweep_name(&folder, &name, area, sweep);
        }
        Ok(())
    }

    /// Sweeps one name, and logs a failure.
    fn sweep_name(&self, dir: &OwnedFd, name: &str, area: Area, sweep: &mut Sweep<'_>) {
        match self.sweep_one(dir, name, area, sweep) {
            Ok(count) => sweep.count += count,
            Err(error) => stays(&error),
        }
    }

    fn sweep_one(
        &self,
        dir: &OwnedFd,
        name: &str,
        area: Area,
        sweep: &Sweep<'_>,
    ) -> Result<usize, DiskError> {
        let slot = slot_in(name);
        let is_old = slot.ends_with(OLD);
        let number = slot.strip_suffix(OLD).unwrap_or(slot).parse::<Slot>().ok();
        // A displaced file that nobody knows is no leftover: its row is written first and removed last, so an older
        // state has come back.
        let is_leftover = area == Area::Stage && !sweep.lost;
        let place = number.and_then(|number| sweep.known.get(&number));
        match (number.is_some(), place) {
            (_, Some(place)) if is_old => match self.settle_old(dir, name, place) {
                // Its folder was removed meanwhile.
                Err(error) if error.kind == DiskErrorKind::NotFound => {
                    self.give_name(dir, name, area)?;
                }
                settled => settled?,
            },
            (_, Some(_)) => return Ok(0),
            (true, None) if is_leftover && !is_old => remove(dir, name)?,
            // A settings file that was being written.
            (false, None) if slot.starts_with("settings-") => remove(dir, name)?,
            // An earlier version of kbsync, which kept no journal, left the file; or its journal entry is lost.
            (_, None) => self.give_name(dir, name, area)?,
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

    /// Gives a file that was being removed its name back, or a visible name; likewise a folder that an earlier version
    /// was renaming to another case.
    fn give_name(&self, dir: &OwnedFd, name: &str, area: Area) -> Result<(), DiskError> {
        let was = slot_in(name).split_once("-was-").map(|(_, was)| was);
        let given = || -> Result<(), Errno> {
            let is_empty = |found: Entry| found.kind == Kind::File && found.stamp.size == 0;
            if look_in(dir, name)?.is_some_and(is_empty) {
                return fs::unlinkat(dir, name, AtFlags::empty());
            }
            let freed = was.map(|was| self.rename_free(dir, name, dir, was));
            match freed {
                Some(Err(Errno::EXIST)) | None => {
                    let found = || format!("{FOUND}{}.html", slot_in(name));
                    let was = was.map_or_else(found, str::to_owned);
                    let kept = self.beside(dir, name, dir, &was)?;
                    if !name.starts_with(TEMPORARY) {
                        let area = name_of(area);
                        tracing::warn!(
                            "what an earlier run left behind is kept as {PRIVATE_FOLDER}/{area}/{kept}"
                        );
                    }
                    Ok(())
                }
                Some(freed) => freed,
            }
        };
        given().map_err(|errno| DiskError::from_errno(errno, "clear up", name))
    }
}

fn remove(dir: &OwnedFd, name: &str) -> Result<(), DiskError> {
    fs::unlinkat(dir, name, AtFlags::empty())
        .map_err(|errno| DiskError::from_errno(errno, "clear up", name))
}

fn stays(error: &DiskError) {
    tracing::warn!(%error, "cannot clear up what an earlier run left behind");
}

/// Returns the part of a name that identifies its slot: within a category's folder, the name has a prefix.
fn slot_in(name: &str) -> &str {
    match name.strip_prefix(TEMPORARY) {
        Some(slot) => slot.strip_prefix(DISPLACED).unwrap_or(slot),
        None => name,
    }
}

/// Returns the names in an open folder that are UTF-8.
fn names(folder: &OwnedFd, shown: &str) -> Result<Vec<String>, DiskError> {
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
