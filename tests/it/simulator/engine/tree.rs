//! A folder of files in memory, with the stamps and the durability that a real file system gives.
//!
//! Times have the grain of a kernel's tick, so that two saves within one tick cannot be told apart by their
//! times. What kbsync writes is durable only once it was synced: [`Tree::lose_power`] takes back what was
//! not, names and bytes each for themselves. What people write counts as durable at once.

use super::files::in_order;
use super::token::Tokens;
use super::world::is_ready;
use kbsync::mirror::disk::{
    At, Content, DiskError, DiskErrorKind, Entry, Expect, Kind, Leftover, Listing, Staged,
    TEMPORARY,
};
use kbsync::model::{Place, Stamp};
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The grain of a file's times, in nanoseconds.
const TICK: i64 = 4_000_000;

/// The time that a change gets at some moment.
pub(super) fn tick(now: i64) -> i64 {
    now - now % TICK
}

/// A file.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// Its bytes.
    pub(crate) bytes: Arc<Vec<u8>>,
    /// The tokens in them.
    pub(crate) tokens: Tokens,
    stamp: Stamp,
    durable: bool,
    /// Whether its bytes were lost with the power.
    pub(crate) torn: bool,
    /// Whether these bytes can be an article; found out when somebody asks.
    ready: OnceCell<bool>,
}

impl Node {
    /// Returns whether it can be an article.
    pub(crate) fn is_ready(&self) -> bool {
        *self.ready.get_or_init(|| is_ready(&self.bytes))
    }
}

/// What has to be undone when a change of names was not durable.
#[derive(Clone, Debug)]
enum Undo {
    Put {
        name: String,
        inode: u64,
        old: Option<Node>,
    },
    Gone {
        name: String,
        node: Node,
    },
    Moved {
        name: String,
        from: (String, String),
        inode: u64,
    },
}

type Folder = BTreeMap<String, Node>;

/// All files, by folder; the root is the folder without a name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    folders: BTreeMap<String, Folder>,
    journal: Vec<(String, Undo)>,
    inodes: u64,
    staged: u64,
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
    /// An empty one.
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

    /// Every file: folder, name and what it is.
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

    // What people do.

    pub(crate) fn get(&self, folder: &str, name: &str) -> Option<&Node> {
        self.found(folder, name)
    }

    /// Saves a file; into the same one, if there is one and nothing else is wished for.
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

    /// What a person does to a name is not undone by a loss of power.
    fn forget_undo(&mut self, folder: &str, name: &str) {
        self.journal.retain(|(at, undo)| {
            let of = match undo {
                Undo::Put { name, .. } | Undo::Gone { name, .. } | Undo::Moved { name, .. } => name,
            };
            at != folder || of != name
        });
    }

    // What kbsync does.

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
            odd_names: Vec::new(),
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
        at: At<'_>,
        bytes: &[u8],
        durable: bool,
    ) -> Result<Staged, DiskError> {
        let folder = key(at).to_owned();
        self.folder(at, "write into")?;
        let node = self.node(bytes.to_vec(), durable);
        let stamp = node.stamp;
        self.staged += 1;
        let temporary = format!("{TEMPORARY}{}", self.staged);
        let files = self.folders.entry(folder.clone()).or_default();
        files.insert(temporary.clone(), node);
        Ok(Staged {
            folder: (!folder.is_empty()).then_some(folder),
            temporary,
            stamp,
        })
    }

    pub(crate) fn publish(
        &mut self,
        staged: &Staged,
        name: &str,
        expect: Expect,
    ) -> Result<Stamp, DiskError> {
        let folder = staged.folder.clone().unwrap_or_default();
        let taken = self
            .folders
            .get_mut(&folder)
            .and_then(|files| files.remove(&staged.temporary));
        let Some(mut node) = taken else {
            return Err(error(DiskErrorKind::NotFound, "write", name));
        };
        let old = self.found(&folder, name).cloned();
        let wrong = match (expect, &old) {
            (Expect::Absent, Some(_)) => Some(DiskErrorKind::Exists),
            (Expect::Stamp(stamp), Some(node)) if node.stamp != stamp => {
                Some(DiskErrorKind::Changed)
            }
            (Expect::Stamp(_), None) => Some(DiskErrorKind::Changed),
            (Expect::Absent, None) | (Expect::Stamp(_), Some(_)) => None,
        };
        if let Some(kind) = wrong {
            return Err(error(kind, "write", name));
        }
        self.changed(&mut node);
        let stamp = node.stamp;
        self.journal.push((
            folder.clone(),
            Undo::Put {
                name: name.to_owned(),
                inode: stamp.inode,
                old,
            },
        ));
        let files = self.folders.entry(folder).or_default();
        files.insert(name.to_owned(), node);
        Ok(stamp)
    }

    pub(crate) fn discard(&mut self, staged: &Staged) -> Result<(), DiskError> {
        let folder = staged.folder.clone().unwrap_or_default();
        let gone = self
            .folders
            .get_mut(&folder)
            .and_then(|files| files.remove(&staged.temporary));
        match gone {
            Some(_) => Ok(()),
            None => Err(error(DiskErrorKind::NotFound, "remove", &staged.temporary)),
        }
    }

    fn expect(
        &self,
        folder: &str,
        name: &str,
        stamp: Stamp,
        doing: &'static str,
    ) -> Result<(), DiskError> {
        self.folder(At::Folder(folder), doing)?;
        match self.found(folder, name) {
            Some(node) if node.stamp == stamp => Ok(()),
            Some(_) | None => Err(error(DiskErrorKind::Changed, doing, name)),
        }
    }

    pub(crate) fn remove(
        &mut self,
        at: At<'_>,
        name: &str,
        expected: Stamp,
    ) -> Result<(), DiskError> {
        let folder = key(at).to_owned();
        self.expect(&folder, name, expected, "remove")?;
        if let Some(node) = self
            .folders
            .get_mut(&folder)
            .and_then(|files| files.remove(name))
        {
            let name = name.to_owned();
            self.journal.push((folder, Undo::Gone { name, node }));
        }
        Ok(())
    }

    pub(crate) fn rename(
        &mut self,
        from: &Place,
        to: &Place,
        expected: Stamp,
    ) -> Result<Stamp, DiskError> {
        self.folder(At::Folder(&from.folder), "rename")?;
        self.folder(At::Folder(&to.folder), "rename")?;
        self.expect(&from.folder, &from.file, expected, "rename")?;
        if self.found(&to.folder, &to.file).is_some() {
            return Err(error(DiskErrorKind::Exists, "rename", &to.file));
        }
        let taken = self
            .folders
            .get_mut(&from.folder)
            .and_then(|files| files.remove(&from.file));
        let Some(mut node) = taken else {
            return Err(error(DiskErrorKind::Changed, "rename", &from.file));
        };
        self.changed(&mut node);
        let stamp = node.stamp;
        self.journal.push((
            to.folder.clone(),
            Undo::Moved {
                name: to.file.clone(),
                from: (from.folder.clone(), from.file.clone()),
                inode: stamp.inode,
            },
        ));
        let files = self.folders.entry(to.folder.clone()).or_default();
        files.insert(to.file.clone(), node);
        Ok(stamp)
    }

    pub(crate) fn exchange(&mut self, one: &Place, other: &Place) -> Result<(), DiskError> {
        self.folder(At::Folder(&one.folder), "exchange")?;
        self.folder(At::Folder(&other.folder), "exchange")?;
        let (Some(mut a), Some(mut b)) = (
            self.found(&one.folder, &one.file).cloned(),
            self.found(&other.folder, &other.file).cloned(),
        ) else {
            return Err(error(DiskErrorKind::Changed, "exchange", &one.file));
        };
        self.changed(&mut a);
        self.changed(&mut b);
        for (place, node) in [(one, b), (other, a)] {
            let files = self.folders.entry(place.folder.clone()).or_default();
            files.insert(place.file.clone(), node);
        }
        Ok(())
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
        for files in self.folders.values_mut() {
            for node in files.values_mut() {
                node.durable = true;
            }
        }
    }

    pub(crate) fn sweep(&mut self, keep: &mut dyn FnMut(&Leftover) -> bool) -> usize {
        let mut left: Vec<(Leftover, String)> = self
            .files()
            .filter(|(_, name, _)| name.starts_with(TEMPORARY))
            .map(|(folder, name, node)| {
                let leftover = Leftover {
                    folder: (!folder.is_empty()).then(|| folder.to_owned()),
                    name: None,
                    bytes: node.bytes.to_vec(),
                };
                (leftover, name.to_owned())
            })
            .collect();
        left.sort_by(|(one, _), (other, _)| in_order(one).cmp(&in_order(other)));
        let mut swept = 0;
        for (leftover, name) in left {
            if keep(&leftover) {
                self.folders
                    .get_mut(leftover.folder.as_deref().unwrap_or_default())
                    .and_then(|files| files.remove(&name));
                swept += 1;
            }
        }
        swept
    }

    /// The power fails: of the changes of names only the first `keep` percent are left, and bytes that were
    /// not synced are gone, as on a file system that orders nothing.
    pub(crate) fn lose_power(&mut self, keep: u8) {
        let kept = self.journal.len() * usize::from(keep.min(100)) / 100;
        for (folder, undo) in self.journal.split_off(kept).into_iter().rev() {
            self.undo(&folder, undo);
        }
        self.journal.clear();
        for files in self.folders.values_mut() {
            for node in files.values_mut().filter(|node| !node.durable) {
                node.bytes = Arc::new(Vec::new());
                node.tokens = Tokens::default();
                node.stamp.size = 0;
                node.torn = true;
                node.ready = OnceCell::new();
                node.durable = true;
            }
        }
    }

    fn undo(&mut self, folder: &str, undo: Undo) {
        match undo {
            Undo::Put { name, inode, old } => {
                let files = self.folders.entry(folder.to_owned()).or_default();
                if files
                    .get(&name)
                    .is_some_and(|node| node.stamp.inode == inode)
                {
                    files.remove(&name);
                    if let Some(old) = old {
                        files.insert(name, old);
                    }
                }
            }
            Undo::Gone { name, node } => {
                let files = self.folders.entry(folder.to_owned()).or_default();
                files.entry(name).or_insert(node);
            }
            Undo::Moved { name, from, inode } => {
                let same = self
                    .found(folder, &name)
                    .is_some_and(|node| node.stamp.inode == inode);
                let free = self.found(&from.0, &from.1).is_none();
                if let Some(node) = self
                    .folders
                    .get_mut(folder)
                    .filter(|_| same && free)
                    .and_then(|files| files.remove(&name))
                {
                    self.folders.entry(from.0).or_default().insert(from.1, node);
                }
            }
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
