//! A real folder, told with the stamps and in the order of the folder in memory.
//!
//! The engine decides by a file's times and the clock which stamps are too young to vouch for what was read
//! (failures row 83). The clock is the world's; a real file's change time is the machine's, and cannot be set.
//! So a file is told with the times that it would have in memory, kept beside its real inode, and what the engine
//! expects of it is given to the disk as the stamp that the file has in truth. An inode that the file system
//! gives away again counts as a new one, as in memory. What is not changed: every byte, every name, and every
//! comparison that the disk makes.

use super::step::Save;
use super::tree::tick;
use kbsync::mirror::RealDisk;
use kbsync::mirror::disk::{
    At, Content, Disk as _, DiskError, Durability, Entry, Expect, Kind, Listing, Staged,
};
use kbsync::model::{Place, Stamp};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// What is told of a file.
#[derive(Clone, Copy, Debug)]
struct Told {
    inode: u64,
    mtime: i64,
    ctime: i64,
}

/// A real folder.
#[derive(Debug)]
pub(crate) struct Folder {
    /// Where it is.
    pub(crate) root: PathBuf,
    /// Nanoseconds since 1970: what changes of files are told with.
    pub(crate) now: i64,
    /// By real inode.
    told: BTreeMap<u64, Told>,
    /// How many files were made.
    inodes: u64,
}

/// The real stamp of a file, if there is one.
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
    /// An empty one.
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

    /// What is told of a real file.
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

    /// What a file has in truth, if it has what is expected of it; else what no file has.
    fn truth(&self, at: At<'_>, name: &str, expected: Stamp) -> Stamp {
        real(&self.path(at, name))
            .filter(|real| self.tell(*real) == expected)
            .unwrap_or(Stamp {
                inode: u64::MAX,
                ..expected
            })
    }

    /// A file got its bytes just now; a new one, or one that was there.
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

    /// A file got another name just now.
    fn changed(&mut self, at: At<'_>, name: &str) {
        if let Some(real) = real(&self.path(at, name))
            && let Some(told) = self.told.get_mut(&real.inode)
        {
            told.ctime = tick(self.now);
        }
    }

    // What people do.

    /// Saves a file, making its folder.
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

    /// Renames a file, making the folder, and replacing what is there.
    pub(crate) fn rename_over(&mut self, from: (&str, &str), to: (&str, &str)) {
        std::fs::create_dir_all(self.path(At::Folder(to.0), "")).expect("made");
        let old = self.path(At::Folder(from.0), from.1);
        std::fs::rename(old, self.path(At::Folder(to.0), to.1)).expect("renamed");
        self.changed(At::Folder(to.0), to.1);
    }

    // What kbsync does.

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
        at: At<'_>,
        bytes: &[u8],
        durability: Durability,
    ) -> Result<Staged, DiskError> {
        let staged = disk.stage(at, bytes, durability)?;
        self.written(staged.stamp.inode, true);
        Ok(Staged {
            stamp: self.tell(staged.stamp),
            ..staged
        })
    }

    /// The staged file as the disk knows it.
    fn staged(&self, staged: Staged) -> Staged {
        let at = staged.folder.as_deref().map_or(At::Root, At::Folder);
        let stamp = self.truth(at, &staged.temporary, staged.stamp);
        Staged { stamp, ..staged }
    }

    pub(crate) fn publish(
        &mut self,
        disk: &RealDisk,
        staged: Staged,
        name: &str,
        expect: Expect,
    ) -> Result<Stamp, DiskError> {
        let folder = staged.folder.clone();
        let at = folder.as_deref().map_or(At::Root, At::Folder);
        let expect = match expect {
            Expect::Absent => Expect::Absent,
            Expect::Stamp(expected) => Expect::Stamp(self.truth(at, name, expected)),
        };
        let stamp = disk.publish(self.staged(staged), name, expect)?;
        self.changed(at, name);
        Ok(self.tell(stamp))
    }

    pub(crate) fn discard(&self, disk: &RealDisk, staged: Staged) -> Result<(), DiskError> {
        disk.discard(self.staged(staged))
    }

    pub(crate) fn remove(
        &self,
        disk: &RealDisk,
        at: At<'_>,
        name: &str,
        expected: Stamp,
    ) -> Result<(), DiskError> {
        disk.remove(at, name, self.truth(at, name, expected))
    }

    pub(crate) fn rename(
        &mut self,
        disk: &RealDisk,
        from: &Place,
        to: &Place,
        expected: Stamp,
    ) -> Result<Stamp, DiskError> {
        let truth = self.truth(At::Folder(&from.folder), &from.file, expected);
        let stamp = disk.rename(from, to, truth)?;
        self.changed(At::Folder(&to.folder), &to.file);
        Ok(self.tell(stamp))
    }

    pub(crate) fn exchange(
        &mut self,
        disk: &RealDisk,
        one: &Place,
        other: &Place,
    ) -> Result<(), DiskError> {
        disk.exchange(one, other)?;
        self.changed(At::Folder(&one.folder), &one.file);
        self.changed(At::Folder(&other.folder), &other.file);
        Ok(())
    }
}
