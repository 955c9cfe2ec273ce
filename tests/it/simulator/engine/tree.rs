//! A folder of files in memory, with the stamps and the durability that a real file system gives.
//!
//! Times have the grain of a kernel's tick, so that two saves within one tick have the same time. A write of kbsync's
//! is durable only after an fsync: [`Tree::lose_power`] undoes the other writes, names and bytes independently. A write
//! of a person's counts as durable at once.

use super::token::Tokens;
use super::world::is_ready;
use kbsync::mirror::disk::{
    Area, At, Content, DiskError, DiskErrorKind, Entry, Expect, Kind, Listing, Slot, beside_name,
};
use kbsync::model::{Digest, Place, Stamp};
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The grain of a file's times, in nanoseconds.
const TICK: i64 = 4_000_000;

/// Returns the time that a change gets at some moment.
pub(super) fn tick(now: i64) -> i64 {
    now - now % TICK
}

/// A file.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// The content.
    pub(crate) bytes: Arc<Vec<u8>>,
    /// The tokens in the content.
    pub(crate) tokens: Tokens,
    stamp: Stamp,
    durable: bool,
    /// Whether the content was lost in a power loss.
    pub(crate) torn: bool,
    /// Whether the content can be an article; computed on demand.
    ready: OnceCell<bool>,
}

impl Node {
    /// Returns whether the file can be an article.
    pub(crate) fn is_ready(&self) -> bool {
        *self.ready.get_or_init(|| is_ready(&self.bytes))
    }
}

/// An exchange between a name and a slot, stored until it is durable.
#[derive(Clone, Debug)]
struct Undo {
    name: String,
    slot: (Area, Slot),
    /// The files under the name and in the slot before the exchange.
    before: (Option<Node>, Option<Node>),
}

type Folder = BTreeMap<String, Node>;

/// All files, by folder; the root is the folder with the empty name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    folders: BTreeMap<String, Folder>,
    journal: Vec<(String, Undo)>,
    aside: BTreeMap<(Area, Slot), Node>,
    inodes: u64,
    /// The time, in nanoseconds since 1970.
    pub(crate) now: i64,
}

fn error(kind: DiskErrorKind, doing: &'static str, what: &str) -> DiskError {
    DiskError::new(kind, doing, what)
}

fn key(at: At<'_>) -> &str {
    match at {
        At::Root => "",
        At::Folder(name) => name,
    }
}

impl Tree {
    /// An empty tree.
    pub(crate) fn new(now: i64) -> Self {
        Self {
            folders: BTreeMap::from([(String::new(), Folder::new())]),
            now,
            ..Self::default()
        }
    }

    fn node(&mut self, bytes: Vec<u8>, durable: bool) -> Node {
        self.inodes += 1;
        let time = tick(self.now);
        Node {
            tokens: Tokens::of(&bytes),
            stamp: Stamp {
                size: bytes.len() as u64,
                mtime: time,
                ctime: time,
                inode: self.inodes,
            },
            bytes: Arc::new(bytes),
            durable,
            torn: false,
            ready: OnceCell::new(),
        }
    }

    fn changed(&self, node: &mut Node) {
        node.stamp.ctime = tick(self.now);
    }

    /// Returns every file: folder, name and node.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, &str, &Node)> {
        self.folders.iter().flat_map(|(folder, files)| {
            files
                .iter()
                .map(move |(name, node)| (folder.as_str(), name.as_str(), node))
        })
    }

    /// The folders' names.
    pub(crate) fn folder_names(&self) -> Vec<String> {
        let named = self.folders.keys().filter(|name| !name.is_empty());
        named.cloned().collect()
    }

    fn folder(&self, at: At<'_>, doing: &'static str) -> Result<&Folder, DiskError> {
        let name = key(at);
        self.folders
            .get(name)
            .ok_or_else(|| error(DiskErrorKind::NotFound, doing, name))
    }

    fn found(&self, folder: &str, name: &str) -> Option<&Node> {
        self.folders.get(folder)?.get(name)
    }

    // The calls of people.

    pub(crate) fn get(&self, folder: &str, name: &str) -> Option<&Node> {
        self.found(folder, name)
    }

    /// Saves a file; into the existing file unless `anew`.
    pub(crate) fn save(&mut self, folder: &str, name: &str, bytes: Vec<u8>, anew: bool) {
        let mut node = self.node(bytes, true);
        let old = self.found(folder, name);
        if let Some(old) = old.filter(|_| !anew) {
            node.stamp.inode = old.stamp.inode;
        }
        self.forget_undo(folder, name);
        let files = self.folders.entry(folder.to_owned()).or_default();
        files.insert(name.to_owned(), node);
    }

    pub(crate) fn unlink(&mut self, folder: &str, name: &str) -> Option<Node> {
        self.forget_undo(folder, name);
        self.folders.get_mut(folder)?.remove(name)
    }

    pub(crate) fn put(&mut self, folder: &str, name: &str, mut node: Node) {
        self.changed(&mut node);
        self.forget_undo(folder, name);
        let files = self.folders.entry(folder.to_owned()).or_default();
        files.insert(name.to_owned(), node);
    }

    pub(crate) fn drop_folder(&mut self, folder: &str) {
        self.folders.remove(folder);
        self.journal.retain(|(at, _)| at != folder);
    }

    pub(crate) fn move_folder(&mut self, from: &str, to: &str) {
        if let Some(files) = self.folders.remove(from) {
            self.journal.retain(|(at, _)| at != from);
            self.folders.insert(to.to_owned(), files);
        }
    }

    /// A name that a person has changed is not undone by a power loss.
    fn forget_undo(&mut self, folder: &str, name: &str) {
        self.journal
            .retain(|(at, undo)| at != folder || undo.name != name);
    }

    // The calls of kbsync.

    pub(crate) fn list(&self, at: At<'_>) -> Result<Listing, DiskError> {
        let mut entries: Vec<Entry> = self
            .folder(at, "list")?
            .iter()
            .map(|(name, node)| entry(name, node))
            .collect();
        if at == At::Root {
            entries.extend(self.folder_names().into_iter().map(|name| Entry {
                name,
                kind: Kind::Folder,
                stamp: Stamp::default(),
            }));
        }
        Ok(Listing {
            entries,
            ..Listing::default()
        })
    }

    pub(crate) fn look(&self, at: At<'_>, name: &str) -> Result<Option<Entry>, DiskError> {
        let node = self.folder(at, "look at")?.get(name);
        let is_folder = at == At::Root && !name.is_empty() && self.folders.contains_key(name);
        Ok(node.map(|node| entry(name, node)).or_else(|| {
            is_folder.then(|| Entry {
                name: name.to_owned(),
                kind: Kind::Folder,
                stamp: Stamp::default(),
            })
        }))
    }

    pub(crate) fn read(&self, at: At<'_>, name: &str, limit: usize) -> Result<Content, DiskError> {
        let node = self.folder(at, "read")?.get(name);
        let node = node.ok_or_else(|| error(DiskErrorKind::NotFound, "read", name))?;
        Ok(Content {
            bytes: node.bytes.as_ref().clone(),
            stamp: node.stamp,
            whole: node.bytes.len() <= limit,
        })
    }

    pub(crate) fn stage(
        &mut self,
        slot: Slot,
        at: At<'_>,
        bytes: &[u8],
        durable: bool,
    ) -> Result<(), DiskError> {
        self.folder(at, "write into")?;
        let node = self.node(bytes.to_vec(), durable);
        self.aside.insert((Area::Stage, slot), node);
        Ok(())
    }

    /// Exchanges the files of a name and a slot.
    fn swap(&mut self, slot: (Area, Slot), folder: &str, name: &str) {
        let files = self.folders.entry(folder.to_owned()).or_default();
        let here = files.remove(name);
        let there = self.aside.remove(&slot);
        let undo = Undo {
            name: name.to_owned(),
            slot,
            before: (here.clone(), there.clone()),
        };
        self.journal.push((folder.to_owned(), undo));
        if let Some(mut node) = here {
            self.changed(&mut node);
            self.aside.insert(slot, node);
        }
        if let Some(mut node) = there {
            self.changed(&mut node);
            let files = self.folders.entry(folder.to_owned()).or_default();
            files.insert(name.to_owned(), node);
        }
    }

    /// Returns the error if the file at a name is not as expected.
    fn unexpected(&self, folder: &str, name: &str, expect: Expect) -> Option<DiskErrorKind> {
        let found = self.found(folder, name);
        let same = |stamp: Stamp| found.is_some_and(|node| node.stamp == stamp);
        match expect {
            Expect::Absent => found.map(|_| DiskErrorKind::Exists),
            Expect::File(known) => {
                let bytes = found.map(|node| Digest::of_parts(&[&node.bytes]));
                let same = same(known.stamp) && bytes == Some(known.digest);
                (!same).then_some(DiskErrorKind::Changed)
            }
        }
    }

    pub(crate) fn publish(
        &mut self,
        slot: Slot,
        at: At<'_>,
        name: &str,
        expect: Expect,
    ) -> Result<Stamp, DiskError> {
        let folder = key(at).to_owned();
        if !self.aside.contains_key(&(Area::Stage, slot)) {
            return Err(error(DiskErrorKind::NotFound, "write", name));
        }
        self.folder(at, "write")?;
        if let Some(kind) = self.unexpected(&folder, name, expect) {
            return Err(error(kind, "write", name));
        }
        self.swap((Area::Stage, slot), &folder, name);
        let found = self.found(&folder, name);
        Ok(found.map(|node| node.stamp).unwrap_or_default())
    }

    pub(crate) fn take(
        &mut self,
        slot: Slot,
        at: At<'_>,
        name: &str,
        expect: Expect,
    ) -> Result<(), DiskError> {
        let folder = key(at).to_owned();
        self.folder(at, "remove")?;
        if self.aside.contains_key(&(Area::Stage, slot)) {
            return Err(error(DiskErrorKind::Exists, "remove", name));
        }
        match self.unexpected(&folder, name, expect) {
            None if self.found(&folder, name).is_some() => {}
            Some(_) | None => return Err(error(DiskErrorKind::Changed, "remove", name)),
        }
        self.swap((Area::Stage, slot), &folder, name);
        Ok(())
    }

    pub(crate) fn set_beside(
        &mut self,
        area: Area,
        slot: Slot,
        at: At<'_>,
        name: &str,
    ) -> Result<String, DiskError> {
        let files = self.folder(at, "write beside")?;
        let free = (1..).map(|number| beside_name(name, number));
        let mut free = free.filter(|name| !files.contains_key(name));
        let beside = free.next().expect("some name is free");
        self.swap((area, slot), key(at), &beside);
        Ok(beside)
    }

    pub(crate) fn aside(&self, area: Area, slot: Slot) -> Option<&Node> {
        self.aside.get(&(area, slot))
    }

    /// Returns the staged files, and the files that outlived a lost state.
    pub(crate) fn staged(&self) -> impl Iterator<Item = &Node> {
        let staged = self.aside.iter();
        staged
            .filter(|((area, slot), _)| *area == Area::Stage || *slot < 0)
            .map(|(_, node)| node)
    }

    /// Returns the files in the slots of an area.
    pub(crate) fn in_slots(&self, area: Area) -> impl Iterator<Item = (Slot, &Node)> {
        let aside = self.aside.iter();
        aside
            .filter(move |((of, slot), _)| *of == area && *slot > 0)
            .map(|((_, slot), node)| (*slot, node))
    }

    pub(crate) fn look_aside(&self, area: Area, slot: Slot) -> Option<Stamp> {
        self.aside(area, slot).map(|node| node.stamp)
    }

    pub(crate) fn read_aside(
        &self,
        area: Area,
        slot: Slot,
        limit: usize,
    ) -> Result<Content, DiskError> {
        let node = self.aside(area, slot);
        let node = node.ok_or_else(|| error(DiskErrorKind::NotFound, "read", "a slot"))?;
        Ok(Content {
            bytes: node.bytes.as_ref().clone(),
            stamp: node.stamp,
            whole: node.bytes.len() <= limit,
        })
    }

    pub(crate) fn displace(&mut self, slot: Slot) -> Result<(), DiskError> {
        let Some(mut node) = self.aside.remove(&(Area::Stage, slot)) else {
            return Err(error(DiskErrorKind::NotFound, "move away", "a slot"));
        };
        self.changed(&mut node);
        self.aside.insert((Area::Displaced, slot), node);
        Ok(())
    }

    pub(crate) fn discard(&mut self, area: Area, slot: Slot) {
        self.aside.remove(&(area, slot));
    }

    pub(crate) fn create_folder(&mut self, name: &str) -> Result<(), DiskError> {
        if self.folders.contains_key(name) || self.found("", name).is_some() {
            return Err(error(DiskErrorKind::Exists, "make", name));
        }
        self.folders.insert(name.to_owned(), Folder::new());
        Ok(())
    }

    pub(crate) fn rename_folder(&mut self, from: &str, to: &str) -> Result<(), DiskError> {
        if !self.folders.contains_key(from) {
            return Err(error(DiskErrorKind::NotFound, "rename", from));
        }
        if self.folders.contains_key(to) {
            return Err(error(DiskErrorKind::Exists, "rename", to));
        }
        self.move_folder(from, to);
        Ok(())
    }

    pub(crate) fn remove_folder(&mut self, name: &str) -> Result<(), DiskError> {
        if !self.folder(At::Folder(name), "remove")?.is_empty() {
            return Err(error(DiskErrorKind::NotEmpty, "remove", name));
        }
        self.drop_folder(name);
        Ok(())
    }

    pub(crate) fn sync_folder(&mut self, at: At<'_>) -> Result<(), DiskError> {
        let name = key(at);
        self.folder(at, "flush")?;
        self.journal.retain(|(folder, _)| folder != name);
        Ok(())
    }

    pub(crate) fn flush(&mut self) {
        self.journal.clear();
        let aside = self.aside.values_mut();
        for node in self
            .folders
            .values_mut()
            .flat_map(Folder::values_mut)
            .chain(aside)
        {
            node.durable = true;
        }
    }

    /// Deletes the files of the stage that the journal does not have. A displaced file that the state does not know, and
    /// every file if the state was lost, is stored under a number that no slot gets.
    pub(crate) fn sweep(&mut self, known: &BTreeMap<Slot, Place>, lost: bool) -> usize {
        let before = self.aside.len();
        let mut free = self.aside.keys().map(|(_, slot)| *slot).min().unwrap_or(0);
        for (area, slot) in self.aside.keys().copied().collect::<Vec<_>>() {
            let is_found = lost || (area == Area::Displaced && !known.contains_key(&slot));
            if slot > 0
                && is_found
                && let Some(node) = self.aside.remove(&(area, slot))
            {
                free = free.min(0) - 1;
                self.aside.insert((area, free), node);
            }
        }
        self.aside
            .retain(|(_area, slot), _| *slot < 0 || known.contains_key(slot));
        before - self.aside.len()
    }

    /// A power loss: only the first `keep` percent of the changes of names survive, and content that was not fsynced is
    /// lost, as on a file system without ordering.
    pub(crate) fn lose_power(&mut self, keep: u8) {
        let kept = self.journal.len() * usize::from(keep.min(100)) / 100;
        for (folder, undo) in self.journal.split_off(kept).into_iter().rev() {
            self.undo(&folder, undo);
        }
        self.journal.clear();
        let aside = self.aside.values_mut();
        let nodes = self
            .folders
            .values_mut()
            .flat_map(Folder::values_mut)
            .chain(aside);
        for node in nodes.filter(|node| !node.durable) {
            node.bytes = Arc::new(Vec::new());
            node.tokens = Tokens::default();
            node.stamp.size = 0;
            node.torn = true;
            node.ready = OnceCell::new();
            node.durable = true;
        }
    }

    fn undo(&mut self, folder: &str, undo: Undo) {
        let (here, there) = undo.before;
        let inode = |node: &Option<Node>| node.as_ref().map(|node| node.stamp.inode);
        let found = self.found(folder, &undo.name);
        if found.map(|node| node.stamp.inode) != inode(&there) {
            return;
        }
        let files = self.folders.entry(folder.to_owned()).or_default();
        match here {
            Some(node) => drop(files.insert(undo.name, node)),
            None => drop(files.remove(&undo.name)),
        }
        match there {
            Some(node) => drop(self.aside.insert(undo.slot, node)),
            None => drop(self.aside.remove(&undo.slot)),
        }
    }
}

fn entry(name: &str, node: &Node) -> Entry {
    Entry {
        name: name.to_owned(),
        kind: Kind::File,
        stamp: node.stamp,
    }
}
