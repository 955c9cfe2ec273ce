//! Scans the whole mirror once: every new or touched file is read, no other file is opened.
//!
//! Every place is in one of three states: present, absent or unknown. An unreadable place is unknown and never counts
//! as absent (failures row 97); only [`Scan::proves_absent`] decides. Several threads walk the folders. Their files go
//! to the caller's sink, on the caller's thread, through a channel that holds few files, so that memory stays bounded.
//!
//! The scan writes nothing and decides nothing.

mod folder;
mod paths;

use super::disk::{At, Disk, DiskError, DiskErrorKind, Kind};
use super::document::{CategoryDocument, Document, NotReady};
use super::layout::{BadRules, IGNORE_FILE, Layout, MAX_IGNORE_FILE, RootVerdict};
use crate::model::{ArticleId, Place, Stamp};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::{io, thread};

pub use crate::model::stamp::{predates, trusted};
use folder::ODD_NAME;
pub use paths::{Strays, find_strays, scan_paths};

/// The number of files that may wait between the threads and the sink.
const IN_FLIGHT: usize = 32;

/// The largest number of walking threads.
const MAX_THREADS: usize = 8;

/// The file at an article's place.
#[derive(Debug)]
pub enum ScannedFile {
    /// The file has the known stamp; it was not opened.
    Unchanged {
        /// The article known to be there.
        id: ArticleId,
        /// Its stamp.
        stamp: Stamp,
    },
    /// A file that can be an article.
    Ready {
        /// Its place.
        place: Place,
        /// Its stamp, the same before and after it was read.
        stamp: Stamp,
        /// The content.
        document: Box<Document>,
    },
    /// A file that is not a valid article as it is.
    NotReady {
        /// Its place.
        place: Place,
        /// Its stamp.
        stamp: Stamp,
        /// The fault, with the article whose `id:` line is in the file: not absent.
        problem: NotReady,
        /// The content, if its only faults are conflict markers of git in the body, or fields over the limits or cut at
        /// a ` #`. The caller may waive these faults if the base or the service has them too.
        lenient: Option<Box<Document>>,
        /// The whole text; `None`: it is not UTF-8, or too large.
        source: Option<String>,
    },
    /// An entry that is not a readable file: present, of unknown content.
    Present {
        /// Its place.
        place: Place,
    },
}

impl ScannedFile {
    /// The place; `None` for an unchanged file, whose place the caller knows by the id.
    pub fn place(&self) -> Option<&Place> {
        match self {
            Self::Unchanged { .. } => None,
            Self::Ready { place, .. } | Self::NotReady { place, .. } | Self::Present { place } => {
                Some(place)
            }
        }
    }
}

/// A category's folder.
#[derive(Debug)]
pub struct ScannedCategory {
    /// Its name.
    pub folder: String,
    /// The stamp of `_category.yaml`.
    pub stamp: Option<Stamp>,
    /// The content of `_category.yaml`.
    pub content: CategoryContent,
}

/// The content of `_category.yaml`.
#[derive(Debug)]
pub enum CategoryContent {
    /// The file has the known stamp; it was not opened.
    Unchanged,
    /// The file was read.
    Ready(Box<CategoryDocument>),
    /// The file does not exist. The folder's articles decide whether it is a category all the same.
    Missing,
    /// The file cannot be read or understood.
    NotReady(NotReady),
}

/// The result of a scan, without the files.
#[derive(Debug, Default)]
pub struct Scan {
    /// All folders that may be categories, by name. A folder without `_category.yaml` and without a ready article is
    /// not a category.
    pub categories: Vec<ScannedCategory>,
    /// All names in the root, to detect clashes.
    pub root_names: BTreeSet<String>,
    /// Names in the root that are not folders, each with its kind in words.
    pub aside: BTreeMap<String, &'static str>,
    /// All names in each listed folder, to detect clashes.
    pub names: BTreeMap<String, BTreeSet<String>>,
    /// Folders that could not be listed, each with the error: their content is unknown.
    pub unreadable: Vec<(String, DiskError)>,
    /// Names in the root that are not scanned as folders: places below them are unknown, too.
    pub blocked: BTreeSet<String>,
    /// Whether everything in scope was listed.
    pub complete: bool,
    /// Problems to report, by path.
    pub problems: Vec<(String, String)>,
    /// The conflict copies, each with the article that its `id:` line names.
    pub conflict_copies: BTreeMap<Place, Option<ArticleId>>,
    /// Folders within categories that hold articles' files: none of these files is synced.
    pub inner: Vec<Place>,
    /// Unreadable files at articles' places: their articles are unknown.
    pub unreadable_files: Vec<Place>,
    /// The rules of the scan.
    pub layout: Layout,
}

impl Scan {
    /// Returns whether this scan proves that nothing lies at a place.
    pub fn proves_absent(&self, place: &Place) -> bool {
        if self.layout.ignores(place) || self.blocked.contains(&place.folder) {
            return false;
        }
        match self.names.get(&place.folder) {
            Some(names) => !names.contains(&place.file),
            // A folder that was not listed is absent only when the root does not have it.
            None => !self.root_names.contains(&place.folder),
        }
    }
}

/// Why the scan failed: the mirror is missing or cannot be listed. A failure is never an empty scan.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    /// The root, or its `.kbsyncignore`, cannot be read.
    #[error(transparent)]
    Root(DiskError),
    /// The `.kbsyncignore` cannot be used as a whole.
    #[error("read {IGNORE_FILE}: {0}")]
    Rules(BadRules),
    /// No thread could be started.
    #[error("start a thread for the scan")]
    Threads(#[source] io::Error),
}

/// Returns the article and the stamp of a file with known content, by folder and name.
pub type KnownFiles<'a> = dyn Fn(&str, &str) -> Option<(ArticleId, Stamp)> + Sync + 'a;

/// The known categories by folder, each with the stamp of its `_category.yaml` if the content of that is known.
pub type KnownCategories<'a> = HashMap<&'a str, Option<Stamp>>;

/// Scans the whole mirror. Files go to `sink` in no order; the rest is the result.
///
/// `known` returns the stamps of files with known content.
pub fn scan(
    disk: &impl Disk,
    known: &KnownFiles<'_>,
    known_categories: &KnownCategories<'_>,
    sink: &mut dyn FnMut(ScannedFile),
) -> Result<Scan, ScanError> {
    let (mut scan, folders) = scan_root(disk)?;
    let walk = folder::Walk {
        disk,
        layout: &scan.layout,
        known,
        known_categories,
    };
    for folder in walk_all(&walk, &folders, sink)?.into_values() {
        scan.add(folder);
    }
    scan.complete = scan.unreadable.is_empty();
    Ok(scan)
}

impl Scan {
    /// Adds the result for a folder.
    fn add(&mut self, found: Self) {
        self.categories.extend(found.categories);
        self.names.extend(found.names);
        self.unreadable.extend(found.unreadable);
        self.problems.extend(found.problems);
        self.conflict_copies.extend(found.conflict_copies);
        self.inner.extend(found.inner);
        self.unreadable_files.extend(found.unreadable_files);
    }
}

/// Lists the root. Returns the scan so far and the folders to walk.
fn scan_root(disk: &impl Disk) -> Result<(Scan, Vec<String>), ScanError> {
    let listing = disk.list(At::Root).map_err(ScanError::Root)?;
    let layout = read_layout(disk)?;
    let mut scan = Scan::default();
    let mut folders = Vec::new();
    for entry in listing.entries {
        let verdict = layout.in_root(&entry.name, entry.kind);
        if verdict == RootVerdict::Category {
            folders.push(entry.name.clone());
        } else {
            scan.blocked.insert(entry.name.clone());
        }
        match verdict {
            RootVerdict::Category | RootVerdict::Ignored => {}
            RootVerdict::Aside => {
                let why = match entry.kind {
                    Kind::Link => "a symbolic link, which is never followed",
                    Kind::File | Kind::Folder | Kind::Other => "no folder",
                };
                scan.aside.insert(entry.name.clone(), why);
            }
            RootVerdict::Stray(why) => scan.problems.push((entry.name.clone(), why.to_owned())),
        }
        scan.root_names.insert(entry.name);
    }
    for name in listing.odd_names {
        scan.problems.push((name, ODD_NAME.to_owned()));
    }
    scan.layout = layout;
    scan.problems.sort();
    folders.sort();
    Ok((scan, folders))
}

/// Reads the rules of a mirror.
fn read_layout(disk: &impl Disk) -> Result<Layout, ScanError> {
    match disk.read(At::Root, IGNORE_FILE, MAX_IGNORE_FILE) {
        Ok(content) if !content.whole => Err(ScanError::Rules(BadRules::TooLarge)),
        Ok(content) => Layout::parse(&content.bytes).map_err(ScanError::Rules),
        Err(error) if error.kind == DiskErrorKind::NotFound => Ok(Layout::default()),
        // Without the rules everything would be in scope, and hidden files would be published.
        Err(error) => Err(ScanError::Root(error)),
    }
}

/// Walks folders with several threads; the calling thread runs the sink. Returns the result for each folder, by its
/// number.
fn walk_all<D: Disk>(
    walk: &folder::Walk<'_, D>,
    folders: &[String],
    sink: &mut dyn FnMut(ScannedFile),
) -> Result<BTreeMap<usize, Scan>, ScanError> {
    let wanted = walk.disk.walkers().min(MAX_THREADS).min(folders.len());
    if wanted <= 1 {
        // Starting a thread costs more than scanning one folder.
        let mut tell = |message| {
            if let folder::Message::Files(files) = message {
                files.into_iter().for_each(&mut *sink);
            }
            true
        };
        let found = folders.iter().map(|folder| walk.folder(folder, &mut tell));
        return Ok(found.enumerate().collect());
    }
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        let (send, receive) = sync_channel(IN_FLIGHT);
        for number in 0..wanted {
            let (send, next): (SyncSender<folder::Message>, _) = (send.clone(), &next);
            let work = move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(folder) = folders.get(number) else {
                        return;
                    };
                    let found = walk.folder(folder, &mut |message| send.send(message).is_ok());
                    // The receiver goes only when the sink has panicked.
                    if send
                        .send(folder::Message::Done(number, Box::new(found)))
                        .is_err()
                    {
                        return;
                    }
                }
            };
            if let Err(error) = thread::Builder::new()
                .name("scan".to_owned())
                .spawn_scoped(scope, work)
                && number == 0
            {
                return Err(ScanError::Threads(error));
            }
        }
        drop(send);
        let mut found = BTreeMap::new();
        for message in receive {
            match message {
                folder::Message::Files(files) => files.into_iter().for_each(&mut *sink),
                folder::Message::Done(number, folder) => {
                    found.insert(number, *folder);
                }
            }
        }
        Ok(found)
    })
}

#[cfg(test)]
mod tests;
