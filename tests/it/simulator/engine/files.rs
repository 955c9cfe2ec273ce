//! The disk of an engine in a simulated world.
//!
//! Every call passes a boundary before and after it, at which the process may die. Every call may meet a fault, or
//! another person's deed.

use super::folder::Folder;
use super::mirror::Mirror;
use super::step::{Call, What};
use super::token::Tokens;
use super::tree::Tree;
use super::world::{Shared, Side, World, id_of};
use kbsync::drill::death;
use kbsync::mirror::RealDisk;
use kbsync::mirror::disk::{
    Area, At, Content, Disk, DiskError, DiskErrorKind, Durability, Entry, Expect, Listing, Slot,
};
use kbsync::model::{ArticleId, Place, Stamp};
use std::collections::BTreeMap;
use std::sync::Mutex;

/// The mirror's port.
pub(crate) struct Files {
    pub(crate) shared: Shared,
    /// The real folder, if there is one.
    pub(crate) real: Option<RealDisk>,
    /// The last published file, and its article.
    pub(crate) moved: Mutex<Option<(String, Option<ArticleId>)>>,
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

impl Files {
    /// The bytes in a slot of the stage.
    fn staged(&self, slot: Slot, at: At<'_>) -> Vec<u8> {
        match (&self.shared.lock().mirror, &self.real) {
            (Mirror::Memory(tree), _) => {
                let node = tree.aside(Area::Stage, slot);
                node.map(|node| node.bytes.to_vec()).unwrap_or_default()
            }
            (Mirror::Real(_), Some(disk)) => death::uncounted(|| {
                let content = disk.read_aside(Area::Stage, slot, at, usize::MAX);
                content.map(|content| content.bytes).unwrap_or_default()
            }),
            (Mirror::Real(_), None) => Vec::new(),
        }
    }

    /// Checks that every name is one component below the root (I10). The root itself has no name.
    fn confined(&self, names: &[&str]) {
        let strays = |name: &&&str| {
            name.contains(['/', '\\', '\0']) || matches!(**name, "." | "..") || name.len() > 255
        };
        if let Some(name) = names.iter().find(strays) {
            let message = format!("{name:?} is no name of a file in the mirror");
            self.shared.lock().violated("I10", message);
        }
    }

    /// Makes one call: the faults, the effect, and the checks of the effect.
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
            // What was written is there, and its row is not recorded.
            world.ledger.died |= call == Call::SyncFolder;
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

    fn stage(
        &self,
        slot: Slot,
        at: At<'_>,
        bytes: &[u8],
        durability: Durability,
    ) -> Result<(), DiskError> {
        self.confined(&[folder_of(at)]);
        self.step(
            Call::Stage,
            folder_of(at),
            false,
            |tree| tree.stage(slot, at, bytes, durability == Durability::Now),
            |folder, disk| folder.stage(disk, (slot, at), bytes, durability),
        )
    }

    fn publish(
        &self,
        slot: Slot,
        at: At<'_>,
        name: &str,
        expect: Expect,
    ) -> Result<Stamp, DiskError> {
        let folder = folder_of(at);
        self.confined(&[folder, name]);
        let path = place(at, name);
        let staged = self.staged(slot, at);
        let pushes_more = {
            let mut world = self.shared.lock();
            world.judge_file(folder, name, &staged);
            world.pushes_more(folder, name, &staged)
        };
        let published = self.step(
            Call::Publish,
            &path,
            true,
            |tree| tree.publish(slot, at, name, expect),
            |folder, disk| folder.publish(disk, (slot, at), name, expect),
        );
        if published.is_ok() {
            let moved = (path.clone(), id_of(&staged));
            *self.moved.lock().expect("no test panics in it") = Some(moved);
        }
        if pushes_more && published.is_ok() {
            let message = format!("a push writes more than its id into {path}");
            self.shared.lock().violated("I4", message);
        }
        published
    }

    fn take(&self, slot: Slot, at: At<'_>, name: &str, expect: Expect) -> Result<(), DiskError> {
        self.confined(&[folder_of(at), name]);
        let moved = self.moved.lock().expect("no test panics in it").clone();
        // A file that was just published may be taken back, because its source is unchanged.
        let back = moved
            .as_ref()
            .is_some_and(|(path, _)| *path == place(at, name));
        let bytes = |world: &World| world.mirror.bytes(folder_of(at), name);
        let (was, wrong) = {
            let mut world = self.shared.lock();
            let article = moved.and_then(|(_, id)| id);
            let wrong = (!back).then(|| world.judge_removal(folder_of(at), name, article));
            (bytes(&world), wrong.flatten())
        };
        let taken = self.step(
            Call::RemoveFile,
            &place(at, name),
            !back,
            |tree| tree.take(slot, at, name, expect),
            |folder, disk| folder.take(disk, (slot, at), name, expect),
        );
        if back && taken.is_ok() {
            self.shared.lock().took_back();
        }
        // The disk takes only the expected file, and no file that came to the name since.
        let mut world = self.shared.lock();
        if let Some(wrong) = wrong.filter(|_| bytes(&world) != was) {
            world.violated(wrong.invariant, wrong.message);
        }
        taken
    }

    fn set_beside(
        &self,
        area: Area,
        slot: Slot,
        at: At<'_>,
        name: &str,
    ) -> Result<String, DiskError> {
        self.confined(&[folder_of(at), name]);
        self.step(
            Call::RenameFile,
            &place(at, ".conflict.html"),
            true,
            |tree| tree.set_beside(area, slot, at, name),
            |_, disk| disk.set_beside(area, slot, at, name),
        )
    }

    fn look_aside(&self, area: Area, slot: Slot, at: At<'_>) -> Result<Option<Stamp>, DiskError> {
        self.step(
            Call::Look,
            folder_of(at),
            false,
            |tree| Ok(tree.look_aside(area, slot)),
            |folder, disk| folder.look_aside(disk, (area, slot), at),
        )
    }

    fn read_aside(
        &self,
        area: Area,
        slot: Slot,
        at: At<'_>,
        limit: usize,
    ) -> Result<Content, DiskError> {
        self.step(
            Call::ReadFile,
            folder_of(at),
            false,
            |tree| tree.read_aside(area, slot, limit),
            |folder, disk| folder.read_aside(disk, (area, slot), at, limit),
        )
    }

    fn displace(&self, slot: Slot, at: At<'_>) -> Result<(), DiskError> {
        self.step(
            Call::Look,
            folder_of(at),
            false,
            |tree| tree.displace(slot),
            |folder, disk| folder.displace(disk, slot, at),
        )
    }

    fn discard(&self, area: Area, slot: Slot, at: At<'_>) -> Result<(), DiskError> {
        self.step(
            Call::Look,
            folder_of(at),
            false,
            |tree| {
                tree.discard(area, slot);
                Ok(())
            },
            |_, disk| disk.discard(area, slot, at),
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

    /// The sweep passes no boundary: it is repeated if need be.
    fn sweep(&self, known: &BTreeMap<Slot, Place>, lost: bool) -> usize {
        if death::came() {
            return 0;
        }
        match (&mut self.shared.lock().mirror, &self.real) {
            (Mirror::Memory(tree), _) => tree.sweep(known, lost),
            (Mirror::Real(_), Some(disk)) => death::uncounted(|| disk.sweep(known, lost)),
            (Mirror::Real(_), None) => 0,
        }
    }
}
