//! The disk of an engine in a simulated world.
//!
//! Every call passes a boundary before and after, at which the process may die; and at every call something
//! may go wrong, or somebody else may be quicker.

use super::folder::Folder;
use super::mirror::Mirror;
use super::step::{Call, What};
use super::token::Tokens;
use super::tree::Tree;
use super::world::{Shared, Side};
use kbsync::drill::death;
use kbsync::mirror::RealDisk;
use kbsync::mirror::disk::{
    At, Content, Disk, DiskError, DiskErrorKind, Durability, Entry, Expect, Late, Leftover,
    Listing, Staged,
};
use kbsync::model::{Place, Stamp};

/// The mirror's port.
pub(crate) struct Files {
    pub(crate) shared: Shared,
    /// The real folder, where there is one.
    pub(crate) real: Option<RealDisk>,
}

fn gone(doing: &'static str) -> DiskError {
    DiskError::new(DiskErrorKind::Other, doing, "a process that is dead")
}

fn place(at: At<'_>, name: &str) -> String {
    match at {
        At::Root => name.to_owned(),
        At::Folder(folder) => format!("{folder}/{name}"),
    }
}

fn folder_of(at: At<'_>) -> &str {
    match at {
        At::Root => "",
        At::Folder(folder) => folder,
    }
}

/// The order in which leftovers are cleared up: their own names are made up by whoever staged them.
pub(super) fn in_order(leftover: &Leftover) -> (&Option<String>, &Option<String>, &[u8]) {
    (&leftover.folder, &leftover.name, &leftover.bytes)
}

impl Files {
    /// Every name is one component below the root (I10). The root itself has none.
    fn confined(&self, names: &[&str]) {
        let strays = |name: &&&str| {
            name.contains(['/', '\\', '\0']) || matches!(**name, "." | "..") || name.len() > 255
        };
        if let Some(name) = names.iter().find(strays) {
            let message = format!("{name:?} is no name of a file in the mirror");
            self.shared.lock().violated("I10", message);
        }
    }

    /// One call: what may go wrong, what it does, and what that means.
    fn step<T>(
        &self,
        call: Call,
        what: &str,
        changes: bool,
        memory: impl FnOnce(&mut Tree) -> Result<T, DiskError>,
        real: impl FnOnce(&mut Folder, &RealDisk) -> Result<T, DiskError>,
    ) -> Result<T, DiskError> {
        let doing = "reach";
        let mut world = self.shared.lock();
        let entered = world.enter(call, what);
        if entered.dead {
            return Err(gone(doing));
        }
        let kind = match entered.what {
            Some(What::Denied) => Some(DiskErrorKind::Denied),
            Some(What::Full) => Some(DiskErrorKind::Full),
            Some(_) => Some(DiskErrorKind::Other),
            None => None,
        };
        if let Some(kind) = kind {
            return Err(DiskError::new(kind, doing, what.to_owned()));
        }
        let before = if changes {
            world.tokens(Side::Mirror)
        } else {
            Tokens::default()
        };
        let done = match (&mut world.mirror, &self.real) {
            (Mirror::Memory(tree), _) => memory(tree),
            (Mirror::Real(folder), Some(disk)) => death::uncounted(|| real(folder, disk)),
            (Mirror::Real(_), None) => Err(gone(doing)),
        };
        if changes && done.is_ok() {
            world.effect(Side::Mirror, &before, &format!("{call:?} {what}"), None);
        }
        death::pass();
        if death::came() {
            return Err(gone(doing));
        }
        done
    }
}

impl Disk for Files {
    fn walkers(&self) -> usize {
        1
    }

    fn list(&self, at: At<'_>) -> Result<Listing, DiskError> {
        self.confined(&[folder_of(at)]);
        let listing = self.step(
            Call::Listing,
            folder_of(at),
            false,
            |tree| tree.list(at),
            |folder, disk| folder.list(disk, at),
        )?;
        self.shared.lock().looked(folder_of(at), "");
        Ok(listing)
    }

    fn root_stamp(&self) -> Result<Stamp, DiskError> {
        Ok(Stamp::default())
    }

    fn look(&self, at: At<'_>, name: &str) -> Result<Option<Entry>, DiskError> {
        self.confined(&[folder_of(at), name]);
        let entry = self.step(
            Call::Look,
            name,
            false,
            |tree| tree.look(at, name),
            |folder, disk| folder.look(disk, at, name),
        )?;
        self.shared.lock().looked(folder_of(at), name);
        Ok(entry)
    }

    fn read(&self, at: At<'_>, name: &str, limit: usize) -> Result<Content, DiskError> {
        self.confined(&[folder_of(at), name]);
        self.step(
            Call::ReadFile,
            &place(at, name),
            false,
            |tree| tree.read(at, name, limit),
            |folder, disk| folder.read(disk, at, name, limit),
        )
    }

    fn stage(&self, at: At<'_>, bytes: &[u8], durability: Durability) -> Result<Staged, DiskError> {
        self.confined(&[folder_of(at)]);
        self.step(
            Call::Stage,
            folder_of(at),
            false,
            |tree| tree.stage(at, bytes, durability == Durability::Now),
            |folder, disk| folder.stage(disk, at, bytes, durability),
        )
    }

    fn publish(&self, staged: Staged, name: &str, expect: Expect) -> Result<Stamp, DiskError> {
        let folder = staged.folder.clone().unwrap_or_default();
        self.confined(&[&folder, name]);
        let path = format!("{folder}/{name}");
        let pushes_more = {
            let mut world = self.shared.lock();
            world.judge_file(&folder, name, &staged.temporary);
            world.pushes_more(&folder, name, &staged.temporary)
        };
        let twin = Staged {
            folder: staged.folder.clone(),
            temporary: staged.temporary.clone(),
            stamp: staged.stamp,
        };
        let published = self.step(
            Call::Publish,
            &path,
            true,
            |tree| tree.publish(&staged, name, expect),
            |folder, disk| folder.publish(disk, twin, name, expect),
        );
        if pushes_more && published.is_ok() {
            let message = format!("a push writes more than its id into {path}");
            self.shared.lock().violated("I4", message);
        }
        published
    }

    fn discard(&self, staged: Staged) -> Result<(), DiskError> {
        let twin = Staged {
            folder: staged.folder.clone(),
            temporary: staged.temporary.clone(),
            stamp: staged.stamp,
        };
        self.step(
            Call::Look,
            staged.folder.as_deref().unwrap_or_default(),
            false,
            |tree| tree.discard(&staged),
            |folder, disk| folder.discard(disk, twin),
        )
    }

    fn remove(&self, at: At<'_>, name: &str, expected: Stamp) -> Result<(), DiskError> {
        self.confined(&[folder_of(at), name]);
        self.shared.lock().judge_removal(folder_of(at), name);
        self.step(
            Call::RemoveFile,
            &place(at, name),
            true,
            |tree| tree.remove(at, name, expected),
            |folder, disk| folder.remove(disk, at, name, expected),
        )
    }

    fn rename(&self, from: &Place, to: &Place, expected: Stamp) -> Result<Stamp, DiskError> {
        self.confined(&[&from.folder, &from.file, &to.folder, &to.file]);
        self.step(
            Call::RenameFile,
            &format!("{from} {to}"),
            true,
            |tree| tree.rename(from, to, expected),
            |folder, disk| folder.rename(disk, from, to, expected),
        )
    }

    fn exchange(&self, one: &Place, other: &Place) -> Result<(), DiskError> {
        self.confined(&[&one.folder, &one.file, &other.folder, &other.file]);
        self.step(
            Call::Exchange,
            &format!("{one} {other}"),
            true,
            |tree| tree.exchange(one, other),
            |folder, disk| folder.exchange(disk, one, other),
        )
    }

    fn create_folder(&self, name: &str) -> Result<(), DiskError> {
        self.confined(&[name]);
        self.step(
            Call::MakeFolder,
            name,
            true,
            |tree| tree.create_folder(name),
            |_, disk| disk.create_folder(name),
        )
    }

    fn rename_folder(&self, from: &str, to: &str) -> Result<(), DiskError> {
        self.confined(&[from, to]);
        self.step(
            Call::RenameFolder,
            &format!("{from} {to}"),
            true,
            |tree| tree.rename_folder(from, to),
            |_, disk| disk.rename_folder(from, to),
        )
    }

    fn remove_folder(&self, name: &str) -> Result<(), DiskError> {
        self.confined(&[name]);
        self.step(
            Call::RemoveFile,
            name,
            true,
            |tree| tree.remove_folder(name),
            |_, disk| disk.remove_folder(name),
        )
    }

    fn sync_folder(&self, at: At<'_>) -> Result<(), DiskError> {
        self.step(
            Call::SyncFolder,
            folder_of(at),
            false,
            |tree| tree.sync_folder(at),
            |_, disk| disk.sync_folder(at),
        )
    }

    fn flush(&self) -> Result<(), DiskError> {
        self.step(
            Call::Flush,
            "",
            false,
            |tree| {
                tree.flush();
                Ok(())
            },
            |_, disk| disk.flush(),
        )
    }

    /// What becomes of a leftover is decided outside of the disk's own boundaries, which do not count here:
    /// the state passes its own when it keeps one, and the process may die there.
    fn sweep(&self, keep: &mut dyn FnMut(&Leftover) -> bool) -> Result<usize, DiskError> {
        if death::came() {
            return Err(gone("clear up"));
        }
        let mut keep = |leftover: &Leftover| keep(leftover) && !death::came();
        let mut world = self.shared.lock();
        match (&mut world.mirror, &self.real) {
            (Mirror::Memory(tree), _) => Ok(tree.sweep(&mut keep)),
            (Mirror::Real(_), Some(disk)) => {
                let mut left = Vec::new();
                let swept = death::uncounted(|| {
                    disk.sweep(&mut |leftover| {
                        left.push(leftover.clone());
                        false
                    })
                })?;
                left.sort_by(|one, other| in_order(one).cmp(&in_order(other)));
                left.retain(|leftover| keep(leftover));
                if left.is_empty() {
                    return Ok(swept);
                }
                let go = |leftover: &Leftover| left.contains(leftover);
                let more = death::uncounted(|| disk.sweep(&mut |leftover| go(leftover)))?;
                Ok(swept + more)
            }
            (Mirror::Real(_), None) => Err(gone("clear up")),
        }
    }

    /// Nobody here keeps a file open.
    fn late(&self, _last: bool, _limit: usize) -> Vec<Late> {
        Vec::new()
    }
}
