//! A real folder that is shown with the stamps and in the order of the folder in memory.
//!
//! The engine decides by a file's times and the clock which stamps are racy (failures row 83). The clock is the
//! world's, but a real file's change time is the machine's, and cannot be set. So a file is shown with the times that
//! it would have in memory, which are stored beside its real inode, and a stamp that the engine expects is translated
//! into the file's real stamp before the disk gets it. An inode that the file system reuses counts as a new one, as in
//! memory. Every byte, every name and every comparison of the disk is unchanged.

use super::step::Save;
use super::tree::tick;
use kbsync::mirror::RealDisk;
use kbsync::mirror::disk::{
    Area, At, Content, Disk as _, DiskError, Durability, Entry, Expect, Kind, Listing, Slot,
};
use kbsync::model::{KnownFile, Stamp};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The shown inode and times of a file.
#[derive(Clone, Copy, Debug)]
struct Told {
    inode: u64,
    mtime: i64,
    ctime: i64,
}

/// A real folder.
#[derive(Debug)]
pub(crate) struct Folder {
    /// The path of the folder.
    pub(crate) root: PathBuf,
    /// The time of the next changes, in nanoseconds since 1970.
    pub(crate) now: i64,
    /// The shown stamps, by real inode.
    told: BTreeMap<u64, Told>,
    /// The number of files that were created.
    inodes: u64,
}

/// Returns the real stamp of a file, if there is one.
fn real(path: &Path) -> Option<Stamp> {
    let found = std::fs::symlink_metadata(path).ok()?;
    let nanos = |seconds: i64, part: i64| seconds * 1_000_000_000 + part;
    found.is_file().then(|| Stamp {
        size: found.size(),
        mtime: nanos(found.mtime(), found.mtime_nsec()),
        ctime: nanos(found.ctime(), found.ctime_nsec()),
        inode: found.ino(),
    })
}

impl Folder {
    /// An empty folder.
    pub(crate) fn new(root: PathBuf, now: i64) -> Self {
        Self {
            root,
            now,
            told: BTreeMap::new(),
            inodes: 0,
        }
    }

    fn path(&self, at: At<'_>, name: &str) -> PathBuf {
        match at {
            At::Root => self.root.join(name),
            At::Folder(folder) => self.root.join(folder).join(name),
        }
    }

    /// Returns the shown stamp of a real file.
    fn tell(&self, real: Stamp) -> Stamp {
        let told = self.told.get(&real.inode);
        let told = told.expect("whoever makes a file here says when");
        Stamp {
            size: real.size,
            mtime: told.mtime,
            ctime: told.ctime,
            inode: told.inode,
        }
    }

    fn tell_entry(&self, entry: &mut Entry) {
        entry.stamp = match entry.kind {
            Kind::File => self.tell(entry.stamp),
            Kind::Folder | Kind::Link | Kind::Other => Stamp::default(),
        };
    }

    /// Returns the file with its real stamp, if it has the expected shown stamp; otherwise with a stamp that no file
    /// has.
    fn truth(&self, at: At<'_>, name: &str, expected: KnownFile) -> KnownFile {
        let stamp = real(&self.path(at, name))
            .filter(|real| self.tell(*real) == expected.stamp)
            .unwrap_or(Stamp {
                inode: u64::MAX,
                ..expected.stamp
            });
        KnownFile { stamp, ..expected }
    }

    /// Records that a file got its bytes just now, a new file or an existing one.
    fn written(&mut self, inode: u64, new: bool) {
        self.inodes += 1;
        let time = tick(self.now);
        let fresh = Told {
            inode: self.inodes,
            mtime: time,
            ctime: time,
        };
        let told = self.told.entry(inode).or_insert(fresh);
        let inode = if new { fresh.inode } else { told.inode };
        *told = Told { inode, ..fresh };
    }

    /// Records that a file was renamed just now.
    fn changed(&mut self, at: At<'_>, name: &str) {
        if let Some(real) = real(&self.path(at, name))
            && let Some(told) = self.told.get_mut(&real.inode)
        {
            told.ctime = tick(self.now);
        }
    }

    // The calls of people.

    /// Saves a file, and creates its folder.
    pub(crate) fn save(&mut self, folder: &str, name: &str, bytes: &[u8], save: Save) {
        let at = self.path(At::Folder(folder), "");
        std::fs::create_dir_all(at).expect("made");
        let path = self.path(At::Folder(folder), name);
        let new = save == Save::RenameOver || real(&path).is_none();
        match save {
            Save::InPlace => std::fs::write(&path, bytes).expect("written"),
            Save::RenameOver => {
                let saving = self.root.join(format!(".saving-{name}"));
                std::fs::write(&saving, bytes).expect("written");
                std::fs::rename(saving, &path).expect("renamed");
            }
        }
        self.written(real(&path).expect("just written").inode, new);
    }

    /// Renames a file, creates the folder, and replaces the file at the new name.
    pub(crate) fn rename_over(&mut self, from: (&str, &str), to: (&str, &str)) {
        std::fs::create_dir_all(self.path(At::Folder(to.0), "")).expect("made");
        let old = self.path(At::Folder(from.0), from.1);
        std::fs::rename(old, self.path(At::Folder(to.0), to.1)).expect("renamed");
        self.changed(At::Folder(to.0), to.1);
    }

    // The calls of kbsync.

    pub(crate) fn list(&self, disk: &RealDisk, at: At<'_>) -> Result<Listing, DiskError> {
        let mut listing = disk.list(at)?;
        let entries = &mut listing.entries;
        entries.retain(|entry| at != At::Root || entry.name != ".kbsync");
        for entry in &mut *entries {
            self.tell_entry(entry);
        }
        entries.sort_by(|one, other| (one.kind, &one.name).cmp(&(other.kind, &other.name)));
        Ok(listing)
    }

    pub(crate) fn look(
        &self,
        disk: &RealDisk,
        at: At<'_>,
        name: &str,
    ) -> Result<Option<Entry>, DiskError> {
        let mut found = disk.look(at, name)?;
        if let Some(entry) = &mut found {
            self.tell_entry(entry);
        }
        Ok(found)
    }

    pub(crate) fn read(
        &self,
        disk: &RealDisk,
        at: At<'_>,
        name: &str,
        limit: usize,
    ) -> Result<Content, DiskError> {
        let content = disk.read(at, name, limit)?;
        Ok(Content {
            stamp: self.tell(content.stamp),
            ..content
        })
    }

    pub(crate) fn stage(
        &mut self,
        disk: &RealDisk,
        (slot, at): (Slot, At<'_>),
        bytes: &[u8],
        durability: Durability,
    ) -> Result<(), DiskError> {
        disk.stage(slot, at, bytes, durability)?;
        if let Some(staged) = disk.look_aside(Area::Stage, slot, at)? {
            self.written(staged.inode, true);
        }
        Ok(())
    }

    /// Translates an expected stamp into the real stamp.
    fn true_expect(&self, at: At<'_>, name: &str, expect: Expect) -> Expect {
        match expect {
            Expect::Absent => Expect::Absent,
            Expect::File(known) => Expect::File(self.truth(at, name, known)),
        }
    }

    /// Records that the file of a slot was renamed just now.
    fn changed_aside(&mut self, disk: &RealDisk, slot: Slot, at: At<'_>) {
        for area in [Area::Stage, Area::Displaced] {
            if let Ok(Some(real)) = disk.look_aside(area, slot, at)
                && let Some(told) = self.told.get_mut(&real.inode)
            {
                told.ctime = tick(self.now);
            }
        }
    }

    pub(crate) fn publish(
        &mut self,
        disk: &RealDisk,
        (slot, at): (Slot, At<'_>),
        name: &str,
        expect: Expect,
    ) -> Result<Stamp, DiskError> {
        let stamp = disk.publish(slot, at, name, self.true_expect(at, name, expect))?;
        self.changed(at, name);
        self.changed_aside(disk, slot, at);
        Ok(self.tell(stamp))
    }

    pub(crate) fn take(
        &mut self,
        disk: &RealDisk,
        (slot, at): (Slot, At<'_>),
        name: &str,
        expect: Expect,
    ) -> Result<(), DiskError> {
        disk.take(slot, at, name, self.true_expect(at, name, expect))?;
        self.changed_aside(disk, slot, at);
        Ok(())
    }

    pub(crate) fn look_aside(
        &self,
        disk: &RealDisk,
        (area, slot): (Area, Slot),
        at: At<'_>,
    ) -> Result<Option<Stamp>, DiskError> {
        let found = disk.look_aside(area, slot, at)?;
        Ok(found.map(|real| self.tell(real)))
    }

    pub(crate) fn read_aside(
        &self,
        disk: &RealDisk,
        (area, slot): (Area, Slot),
        at: At<'_>,
        limit: usize,
    ) -> Result<Content, DiskError> {
        let content = disk.read_aside(area, slot, at, limit)?;
        Ok(Content {
            stamp: self.tell(content.stamp),
            ..content
        })
    }

    pub(crate) fn displace(
        &mut self,
        disk: &RealDisk,
        slot: Slot,
        at: At<'_>,
    ) -> Result<(), DiskError> {
        disk.displace(slot, at)?;
        self.changed_aside(disk, slot, at);
        Ok(())
    }
}
