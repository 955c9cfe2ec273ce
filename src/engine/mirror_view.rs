//! The mirror beside the base, without requests: one scan for the commands that compare and restore, and the check of a
//! single path, by which the daemon tells its own writes from a writer's.
//!
//! The check of a path goes by stamp, or by content where the stamp is racy or another one, never by timing (failures
//! row 79). It answers "known" only when that is certain: everything else is left to a cycle.

use crate::engine::form::{MAX_FILE, says, says_category};
use crate::engine::observe::index::{Index, load_base, load_beside};
use crate::engine::observe::local::Scanned;
use crate::engine::open_actions;
use crate::engine::settings::InMotion;
use crate::mirror::disk::{At, Disk};
use crate::mirror::document::{CategoryDocument, Document};
use crate::mirror::layout::Layout;
use crate::model::base::{ArticleRow, CategoryRow, ConflictRow};
use crate::model::path::{CATEGORY_FILE, EXTENSION, fold};
use crate::model::{ArticleId, CategoryId, Place, Stamp};
use crate::reconcile::pairing::{self, Paired};
use crate::reconcile::place_in_conflict;
use crate::reconcile::plan::Problem;
use crate::reconcile::snapshot::{Base, LocalFile, LocalSnapshot, RemoteSnapshot};
use crate::state::store::Store;
use anyhow::Context as _;
use std::collections::BTreeSet;

/// The mirror at one moment, and the base.
pub(super) struct MirrorView {
    pub(super) base: Base,
    pub(super) local: LocalSnapshot,
    pub(super) paired: Paired,
    pub(super) layout: Layout,
    /// Files that are left out, and why.
    pub(super) problems: Vec<Problem>,
}

/// An article whose file differs from the base. The row or the file may be missing, never both.
#[derive(Clone, Copy)]
pub(super) struct Difference<'v> {
    pub(super) row: Option<&'v ArticleRow>,
    pub(super) file: Option<&'v LocalFile>,
}

impl MirrorView {
    /// Scans the mirror, compares it with the whole base, and stores nothing.
    pub(super) fn read<D: Disk>(disk: &D, store: &mut Store) -> anyhow::Result<Self> {
        store.set_dry_run(true);
        let view = Self::look(disk, store, None);
        store.set_dry_run(false);
        view
    }

    /// Scans the mirror, and compares it with the whole base. New edits go into the history.
    pub(super) fn read_and_keep<D: Disk>(disk: &D, store: &mut Store) -> anyhow::Result<Self> {
        Self::look(disk, store, None)
    }

    /// Scans the mirror. If only the content of files differs from the index, loads just the rows of those articles.
    pub(super) fn read_changed<D: Disk>(disk: &D, store: &mut Store) -> anyhow::Result<Self> {
        let index = match store.conflicts()?.as_slice() {
            [] => Some(Index::of(store.index()?)),
            [_, ..] => None,
        };
        store.set_dry_run(true);
        let view = Self::look(disk, store, index);
        store.set_dry_run(false);
        view
    }

    fn look<D: Disk>(disk: &D, store: &mut Store, index: Option<Index>) -> anyhow::Result<Self> {
        let mut base = match &index {
            Some(_) => load_beside(store)?,
            None => load_base(store)?,
        };
        let in_motion = InMotion::default();
        let looked = Scanned::look(disk, store, &in_motion, &base, index.as_ref(), None)?;
        let mut scanned = looked.context("failed to look at the mirror")?;
        let mut is_part = false;
        if let Some(index) = index {
            is_part = scanned.is_as_indexed(&index, &base, store)?;
            if is_part {
                base.articles = scanned.rows(store)?;
            } else {
                base = load_base(store)?;
            }
        }
        scanned.finish(disk, store, &in_motion, &base, is_part)?;
        let mut paired = pairing::pair(&base, &scanned.snapshot, &RemoteSnapshot::default());
        let mut problems = scanned.problems;
        problems.append(&mut paired.problems);
        problems.sort();
        problems.dedup();
        Ok(Self {
            base,
            local: scanned.snapshot,
            paired,
            layout: scanned.side.layout,
            problems,
        })
    }

    /// Returns the articles whose files differ from the base, then the files without a row. A file that cannot be read
    /// is no difference, and a conflict before the first sync is no new file.
    pub(super) fn differences(&self) -> Vec<Difference<'_>> {
        let (base, paired) = (&self.base, &self.paired);
        let rows = base.articles.values().filter_map(|row| {
            let file = paired.files.get(&row.id);
            let is_unreadable = paired.unknown.contains_key(&row.id);
            let is_equal = file.is_some_and(|file| {
                file.version == row.local && file.flags == row.file_flags && file.place == row.place
            });
            let row = Some(row);
            (!is_unreadable && !is_equal).then_some(Difference { row, file })
        });
        let unknown = paired
            .files
            .iter()
            .filter(|(id, _)| !base.articles.contains_key(id) && !base.conflicts.contains_key(id));
        let created = unknown.map(|(_, file)| file).chain(&paired.new_files);
        let created = created.map(|file| Difference {
            row: None,
            file: Some(file),
        });
        rows.chain(created).collect()
    }

    /// Returns whether the file of an article in conflict was removed. A file that cannot be read counts as present.
    pub(super) fn has_lost_file(&self, row: &ConflictRow) -> bool {
        let (paired, place) = (&self.paired, place_in_conflict(&self.base, row));
        // Without a common base, only the place shows whose file it is.
        let names = self.local.names.get(&place.folder);
        let is_taken = names.is_some_and(|names| names.contains(&fold(&place.file)));
        !is_taken && !paired.files.contains_key(&row.id) && !paired.unknown.contains_key(&row.id)
    }

    /// The last known place of an article's file, in the present folder of its category.
    pub(super) fn last_place(&self, id: ArticleId) -> Option<(Place, CategoryId)> {
        let (place, version) = match self.base.conflicts.get(&id) {
            Some(conflict) => (place_in_conflict(&self.base, conflict), &conflict.local),
            None => self
                .base
                .articles
                .get(&id)
                .map(|row| (&row.place, &row.local))?,
        };
        let folder = self
            .paired
            .folder(version.category)
            .unwrap_or(&place.folder);
        Some((Place::new(folder, &place.file), version.category))
    }
}

/// The check of paths. What waits for a person is read once for all of them.
pub struct PathCheck<'e, D> {
    disk: &'e D,
    store: &'e Store,
    /// `None`: unknown.
    waiting: Option<Waiting>,
}

/// The paths that wait for a person.
struct Waiting {
    conflicts: BTreeSet<Place>,
    held: BTreeSet<String>,
}

impl<'e, D: Disk> PathCheck<'e, D> {
    pub(super) fn new(disk: &'e D, store: &'e Store) -> Self {
        let waiting = || {
            let conflicts = store.conflicts().ok()?;
            let held = open_actions::held(store).ok()?.into_iter();
            Some(Waiting {
                conflicts: conflicts.into_iter().map(|row| row.place).collect(),
                held: held.map(|held| held.path).collect(),
            })
        };
        Self {
            disk,
            store,
            waiting: waiting(),
        }
    }

    /// Returns whether a file, or its absence, is what the state says.
    pub fn is_file_known(&self, place: &Place) -> bool {
        self.file(place).unwrap_or(false)
    }

    /// Returns whether a folder holds exactly what the state says.
    pub fn is_folder_known(&self, folder: &str) -> bool {
        self.folder(folder).unwrap_or(false)
    }

    fn file(&self, place: &Place) -> Option<bool> {
        let (disk, store) = (self.disk, self.store);
        let found = disk.look(At::Folder(&place.folder), &place.file).ok()?;
        if place.file == CATEGORY_FILE {
            let row = category_of(store, &place.folder)?;
            return Some(found.is_some_and(|entry| is_category(disk, &row, entry.stamp)));
        }
        let waiting = self.waiting.as_ref()?;
        // The conflict's copy may be gone, which settles the conflict. The reason for a hold may be over, for example
        // because a file came back.
        if waiting.conflicts.contains(place) || waiting.held.contains(&place.to_string()) {
            return Some(false);
        }
        let rows = store.articles_at(place).ok()?;
        Some(match (found, rows.as_slice()) {
            (None, []) => true,
            (Some(entry), [row]) => is_article(disk, row, entry.stamp),
            (Some(_) | None, _) => false,
        })
    }

    fn folder(&self, folder: &str) -> Option<bool> {
        let (disk, store) = (self.disk, self.store);
        let entries = disk.list(At::Folder(folder)).ok()?.entries;
        let category = category_of(store, folder)?;
        let mut missing: BTreeSet<String> = store
            .index()
            .ok()?
            .into_iter()
            .filter(|row| row.place.folder == folder)
            .map(|row| row.place.file)
            .collect();
        for entry in entries {
            if entry.name == CATEGORY_FILE {
                if !is_category(disk, &category, entry.stamp) {
                    return Some(false);
                }
            } else if entry.name.ends_with(EXTENSION) {
                let place = Place::new(folder, &entry.name);
                if !missing.remove(&entry.name) || !self.file(&place)? {
                    return Some(false);
                }
            }
        }
        Some(missing.is_empty())
    }
}

fn category_of(store: &Store, folder: &str) -> Option<CategoryRow> {
    let rows = store.categories().ok()?;
    rows.into_iter()
        .find(|row| row.folder.as_deref() == Some(folder))
}

fn is_article(disk: &impl Disk, row: &ArticleRow, stamp: Stamp) -> bool {
    if row.stamp == Some(stamp) {
        return true;
    }
    let Place { folder, file } = &row.place;
    let Ok(content) = disk.read(At::Folder(folder), file, MAX_FILE) else {
        return false;
    };
    Document::parse(&content.bytes).is_ok_and(|document| {
        document.id() == Some(row.id)
            && document.flags() == row.file_flags
            && says(&document, &row.place, &row.local)
    })
}

/// Returns whether a `_category.yaml` says what the state says.
fn is_category(disk: &impl Disk, row: &CategoryRow, stamp: Stamp) -> bool {
    if row.stamp == Some(stamp) {
        return true;
    }
    let Some(folder) = row.folder.as_deref() else {
        return false;
    };
    let Ok(content) = disk.read(At::Folder(folder), CATEGORY_FILE, MAX_FILE) else {
        return false;
    };
    CategoryDocument::parse(&content.bytes)
        .is_ok_and(|document| says_category(&document, folder, row))
}
