//! The mirror's side of a cycle: turns a scan into the local snapshot of files and folders.
//!
//! An untouched file equals the base; every other file is read once. A file that the scan cannot prove absent is
//! present and unknown.

use super::index::{Index, places_of};
use super::missing::unknown;
use super::reader::{Reader, store_yaml};
use crate::engine::form::{category_version, says_category};
use crate::engine::listing::ArticleRows;
use crate::engine::observation::MirrorFacts;
use crate::engine::open_actions;
use crate::engine::settings::InMotion;
use crate::mirror::disk::{At, Disk, TEMPORARY};
use crate::mirror::layout::Layout;
use crate::mirror::scan::{
    self, CategoryContent, KnownCategories, Scan, ScannedCategory, ScannedFile,
};
use crate::model::base::CategoryRow;
use crate::model::path::{CATEGORY_FILE, fold, slug_of_stem};
use crate::model::{ArticleId, Place, Stamp, Timestamp};
use crate::reconcile::plan::Problem;
use crate::reconcile::snapshot::{Base, LocalCategory, LocalFile, LocalSnapshot, Unknown};
use crate::state::StateError;
use crate::state::store::Store;
use anyhow::Context as _;
use std::collections::{BTreeSet, HashMap, HashSet};

/// The largest number of changed files that are compared without all others.
pub(super) const MAX_CHANGED: usize = 128;

/// The result of a scan.
#[derive(Default)]
pub(in crate::engine) struct Scanned {
    /// The files that were read; after [`Scanned::finish`], everything.
    pub(in crate::engine) snapshot: LocalSnapshot,
    pub(in crate::engine) side: MirrorFacts,
    pub(in crate::engine) problems: Vec<Problem>,
    pub(super) doubt: Option<String>,
    /// Folders within categories that hold articles' files.
    pub(super) inner: Vec<Place>,
    /// The scan, until [`Scanned::finish`].
    pub(super) scan: Scan,
    /// Files with a known stamp, until [`Scanned::finish`].
    pub(super) unchanged: Vec<(ArticleId, Stamp)>,
}

impl Scanned {
    /// Scans the mirror, or some of its files, and reads the files without a known stamp. `None`: a look at these files
    /// is not enough.
    pub(in crate::engine) fn look<D: Disk>(
        disk: &D,
        store: &mut Store,
        in_motion: &InMotion,
        base: &Base,
        index: Option<&Index>,
        paths: Option<&BTreeSet<Place>>,
    ) -> anyhow::Result<Option<Self>> {
        let places = match index {
            Some(index) => index.places(),
            None => places_of(base),
        };
        let known_categories = by_folder(base);
        let stamp_at = |place: &Place| {
            let found = disk.look(At::Folder(&place.folder), &place.file);
            found.ok().flatten().map(|entry| entry.stamp)
        };
        let mut reader = Reader::new(&places, &stamp_at, store);
        let mut take = |file: ScannedFile| {
            let place = file.place();
            if let Some(place) = place.filter(|place| in_motion.covers(place)) {
                let unknown = unknown(&file, place);
                reader.out.snapshot.unknown.push(unknown);
            } else {
                reader.take(file);
            }
        };
        let scan = if let Some(paths) = paths {
            scan::scan_paths(disk, paths, &known_categories, &mut take)
        } else {
            let known = |folder: &str, file: &str| {
                let (id, stamp) = (*places.get(&(folder, file))?)?;
                // A file in motion is opened: its stamp is not trusted.
                let moves = in_motion.covers_file(folder, file);
                Some((id, stamp.filter(|_| !moves)?))
            };
            scan::scan(disk, &known, &known_categories, &mut take).map(Some)
        };
        let scan = scan.context("failed to look at the mirror")?;
        scan.map(|scan| reader.finish(scan)).transpose()
    }

    /// Completes the local snapshot. The base has all rows or, if `is_part`, those of the articles that changed: then
    /// only the names around changed files matter.
    pub(in crate::engine) fn finish<D: Disk>(
        &mut self,
        disk: &D,
        store: &mut Store,
        in_motion: &InMotion,
        base: &Base,
        is_part: bool,
    ) -> anyhow::Result<()> {
        let mut scan = std::mem::take(&mut self.scan);
        if is_part {
            let folders = base.articles.values().map(|row| row.place.folder.as_str());
            let folders: BTreeSet<&str> = folders.collect();
            scan.names
                .retain(|folder, _| folders.contains(folder.as_str()));
        }
        for (id, stamp) in std::mem::take(&mut self.unchanged) {
            if let Some(row) = base.articles.get(&id) {
                self.side.stamps.insert(row.place.clone(), stamp);
                self.snapshot.files.push(LocalFile {
                    place: row.place.clone(),
                    id: Some(row.id),
                    version: row.local.clone(),
                    flags: row.file_flags,
                });
            }
        }
        self.seen_twice(disk);
        self.strays(disk, base, in_motion, &scan);
        store_yaml(base, &scan.categories, store)?;
        self.take_scan(base, scan);
        if in_motion.listed.has_grace {
            let held = open_actions::held_removals(store)?;
            self.mark_just_gone(base, in_motion, &held);
        }
        self.mark_in_motion(base, in_motion);
        Ok(())
    }

    /// Returns the rules of the mirror.
    pub(super) fn layout(&self) -> &Layout {
        &self.scan.layout
    }

    /// Returns the ids in the files that were read.
    pub(super) fn read_ids(&self) -> impl Iterator<Item = ArticleId> {
        let files = self.snapshot.files.iter();
        files.filter_map(|file| file.id)
    }

    /// Loads the rows of the articles whose files were read.
    pub(in crate::engine) fn rows(&self, store: &Store) -> Result<ArticleRows, StateError> {
        let rows = self.read_ids().map(|id| store.article(id));
        let rows = rows.filter_map(Result::transpose);
        rows.map(|row| row.map(|row| (row.id, row))).collect()
    }

    /// Returns whether the mirror has exactly the files and folders of the index, at their places: at most, the content
    /// of files differs.
    pub(in crate::engine) fn is_as_indexed(
        &self,
        index: &Index,
        base: &Base,
        store: &Store,
    ) -> Result<bool, StateError> {
        let snapshot = &self.snapshot;
        if snapshot.files.len() > MAX_CHANGED {
            return Ok(false);
        }
        let rows = self.rows(store)?;
        let keeps_address = |file: &LocalFile| {
            let row = file.id.and_then(|id| rows.get(&id));
            row.is_some_and(|row| row.place == file.place && row.local.slug == file.version.slug)
        };
        Ok(self.scan.complete
            && self.scan.problems.is_empty()
            && self.scan.conflict_copies.is_empty()
            && self.problems.is_empty()
            && snapshot.unknown.is_empty()
            && snapshot.files.iter().all(keeps_address)
            && self.unchanged.len() + snapshot.files.len() == index.rows.len()
            && self.has_folders_of(base))
    }

    /// Returns whether the folders and each `_category.yaml` equal the base.
    fn has_folders_of(&self, base: &Base) -> bool {
        let mut left: HashMap<&str, &CategoryRow> = HashMap::new();
        for row in base.categories.values() {
            let folder = row.folder.as_deref();
            if folder.is_some_and(|folder| left.insert(folder, row).is_some()) {
                return false;
            }
        }
        let same = self.scan.categories.iter().all(|category| {
            let row = left.remove(category.folder.as_str());
            match &category.content {
                CategoryContent::Unchanged => row.is_some(),
                CategoryContent::Ready(document) => {
                    row.is_some_and(|row| says_category(document, &category.folder, row))
                }
                CategoryContent::Missing => row.is_none(),
                CategoryContent::NotReady(_) => false,
            }
        });
        same && left.is_empty()
    }
}

/// The stamps of the categories' files. If two rows share a folder, no stamp shows whose file it is.
fn by_folder(base: &Base) -> KnownCategories<'_> {
    let mut stamps = HashMap::new();
    for row in base.categories.values() {
        if let Some(folder) = row.folder.as_deref() {
            let stamp = stamps.entry(folder).and_modify(|known| *known = None);
            stamp.or_insert(row.stamp);
        }
    }
    stamps
}

impl Scanned {
    /// Returns the racy stamps: of files written when the scan began, or within a clock tick before. Such a file may
    /// have been written again, during or after the read, without a change of the stamp.
    pub(super) fn racy(&self, began: Timestamp) -> Vec<Stamp> {
        let began = began.0.saturating_mul(1_000_000);
        self.side
            .stamps
            .values()
            .chain(self.side.category_stamps.values())
            .filter(|stamp| !scan::predates(stamp, began))
            .copied()
            .collect()
    }

    fn take_scan(&mut self, base: &Base, scan: Scan) {
        for (path, message) in &scan.problems {
            self.problems.push(Problem::at(path, None, message));
        }
        for (folder, error) in &scan.unreadable {
            self.problems
                .push(Problem::at(folder, None, error.in_words()));
            self.snapshot.unreadable.insert(folder.clone());
            self.snapshot.closed.insert(folder.clone());
        }
        let folders = base.categories.values();
        for folder in folders.filter_map(|row| row.folder.as_ref()) {
            // Without this problem a person would not know why nothing in it is synced.
            if let Some(why) = scan.aside.get(folder) {
                let message = format!(
                    "this was a category's folder and is now {why}: nothing in it is synced until the folder is \
                     back; move away what is there now, and put the folder back"
                );
                self.problems.push(Problem::at(folder, None, message));
            }
        }
        self.inner.clone_from(&scan.inner);
        if !scan.complete {
            let why = || "a folder could not be read".to_owned();
            self.doubt.get_or_insert_with(why);
        }
        self.mark_unproven(base, &scan);
        self.snapshot.complete = true;
        self.snapshot
            .unreadable_files
            .extend(scan.unreadable_files.iter().cloned());
        self.snapshot.top = scan.root_names.iter().map(|name| fold(name)).collect();
        self.snapshot.names = scan
            .names
            .iter()
            .map(|(folder, names)| {
                // A leftover of an earlier write takes no name.
                let taken = names.iter().filter(|name| !name.starts_with(TEMPORARY));
                (folder.clone(), taken.map(|name| fold(name)).collect())
            })
            .collect();
        self.snapshot.copies.clone_from(&scan.conflict_copies);
        let mut with_articles = self.folders_in_use(base);
        let ready = self.snapshot.files.iter().map(|file| &file.place.folder);
        with_articles.extend(ready.cloned());
        for category in scan.categories {
            self.category(base, category, &with_articles);
        }
        let folders = base
            .categories
            .values()
            .filter_map(|row| row.folder.clone());
        // An ignored folder is neither present nor gone.
        let ignored = folders.filter(|folder| scan.layout.ignores_folder(folder));
        self.snapshot.unreadable.extend(ignored);
        self.side.layout = scan.layout;
        self.snapshot
            .files
            .sort_by(|one, other| one.place.cmp(&other.place));
    }

    /// Adds the files that the scan could not prove absent, as present and unknown.
    fn mark_unproven(&mut self, base: &Base, scan: &Scan) {
        let files = self.snapshot.files.iter().map(|file| &file.place);
        let unknown = self.snapshot.unknown.iter().map(|unknown| &unknown.place);
        let there: HashSet<&Place> = files.chain(unknown).collect();
        let rows = base.articles.values();
        let unproven: Vec<Unknown> = rows
            .filter(|row| !there.contains(&row.place) && !scan.proves_absent(&row.place))
            .map(|row| Unknown::at(&row.place))
            .collect();
        self.side.may_hide_removals = unproven
            .iter()
            .any(|unknown| !scan.layout.ignores(&unknown.place));
        self.snapshot.unknown.extend(unproven);
    }

    /// Returns the folders of known categories that may still hold an article, one that is not ready or in motion.
    fn folders_in_use(&self, base: &Base) -> BTreeSet<String> {
        let unknown = self.snapshot.unknown.iter();
        let unknown: BTreeSet<&String> = unknown.map(|unknown| &unknown.place.folder).collect();
        let rows = base.categories.values();
        let folders = rows.filter_map(|row| row.folder.as_ref());
        folders
            .filter(|folder| unknown.contains(folder))
            .cloned()
            .collect()
    }

    fn category(
        &mut self,
        base: &Base,
        scanned: ScannedCategory,
        with_articles: &BTreeSet<String>,
    ) {
        let ScannedCategory {
            folder,
            stamp,
            content,
        } = scanned;
        if let Some(stamp) = stamp {
            self.side.category_stamps.insert(folder.clone(), stamp);
        }
        let row = base
            .categories
            .values()
            .find(|row| row.folder.as_deref() == Some(&folder));
        let (id, version) = match content {
            CategoryContent::Unchanged => match row {
                Some(row) => (Some(row.id), Some(row.local.clone())),
                None => (None, None),
            },
            CategoryContent::Ready(document) => {
                let named = document.id().and_then(|id| base.categories.get(&id));
                let checked = document.check(named.or(row).map(|row| &row.local));
                let checked = checked.map_err(|problem| problem.to_string());
                let version = checked.and_then(|()| category_version(&folder, &document));
                let version = version.map_err(|message| self.unready_category(&folder, message));
                (document.id(), version.ok())
            }
            CategoryContent::NotReady(problem) => {
                let id = problem.category;
                self.unready_category(&folder, problem.to_string());
                (id, None)
            }
            CategoryContent::Missing => {
                if !with_articles.contains(&folder) {
                    return;
                }
                if row.is_none()
                    && let Err(problem) = slug_of_stem(&folder)
                {
                    self.problems
                        .push(Problem::at(folder.clone(), None, problem.of_folder()));
                    self.snapshot.unready_categories.insert(folder.clone());
                }
                (None, None)
            }
        };
        self.snapshot.categories.push(LocalCategory {
            folder,
            id,
            version,
        });
    }

    fn unready_category(&mut self, folder: &str, message: String) {
        self.problems.push(Problem::at(
            format!("{folder}/{CATEGORY_FILE}"),
            None,
            message,
        ));
        self.snapshot.unready_categories.insert(folder.to_owned());
    }
}
