//! Files of the base that the scan did not find, or not for certain, at their places.
//!
//! - A file that was moved during the scan, or to a place where no article can be, is not gone. A file seen at two
//!   places is one file.
//! - A file at a path in motion counts as present and unknown. In the daemon, so does each missing file until its grace
//!   time is over.
//! - The row of an article whose file was removed while `.kbsyncignore` named it is dropped. When the rule goes, the
//!   file comes back from the service, and the article is not deleted.

use super::Engine;
use super::local::Scanned;
use crate::engine::settings::InMotion;
use crate::mirror::disk::{At, Disk, DiskErrorKind};
use crate::mirror::document::Document;
use crate::mirror::scan::{self, Scan, ScannedFile};
use crate::model::path::{CATEGORY_FILE, CONFLICT_EXTENSION, fold};
use crate::model::{ArticleId, Place, Side};
use crate::reconcile::plan::Problem;
use crate::reconcile::snapshot::{Base, Unknown};
use crate::service::Service;
use crate::state::Deed;
use std::collections::{BTreeMap, BTreeSet, HashSet};

const STRAY: &str = "the file of an article has a name that is not synced, or was moved just now; if it \
                     stays so, rename it, or remove it to delete the article";

const REPLACED: &str = "another file took its place while the mirror was looked at";

impl Scanned {
    /// Looks again at files that share an id, because one may have become the other during the scan: a file that is
    /// gone is dropped, and a replaced file is unknown.
    pub(super) fn seen_twice(&mut self, disk: &impl Disk) {
        let mut times: BTreeMap<ArticleId, usize> = BTreeMap::new();
        for id in self.snapshot.files.iter().filter_map(|file| file.id) {
            *times.entry(id).or_default() += 1;
        }
        times.retain(|_, times| *times > 1);
        if times.is_empty() {
            return;
        }
        let stamps = &self.side.stamps;
        let mut replaced = Vec::new();
        self.snapshot.files.retain(|file| {
            if !file.id.is_some_and(|id| times.contains_key(&id)) {
                return true;
            }
            let place = &file.place;
            match disk.look(At::Folder(&place.folder), &place.file) {
                Ok(None) => false,
                Ok(Some(now)) if stamps.get(place) != Some(&now.stamp) => {
                    replaced.push(place.clone());
                    false
                }
                Ok(Some(_)) => true,
                Err(error) => error.kind != DiskErrorKind::NotFound,
            }
        });
        for place in replaced {
            self.problems.push(Problem::at(&place, None, REPLACED));
            self.snapshot.unreadable_files.push(place.clone());
            self.snapshot.unknown.push(Unknown { place, id: None });
        }
    }

    /// Looks for missing files at places where no article can be, or that the scan had passed before the move: such a
    /// file is not gone. Its id counts, more than a file without an id at its place.
    pub(super) fn strays(
        &mut self,
        disk: &impl Disk,
        base: &Base,
        in_motion: &InMotion,
        scan: &Scan,
    ) {
        let missing = self.missing(base, in_motion, scan);
        if missing.is_empty() {
            return;
        }
        let (stamps, copies) = (&self.side.stamps, &scan.conflict_copies);
        let known =
            |place: &Place, stamp| stamps.get(place) == Some(&stamp) || copies.contains_key(place);
        let found = match scan::find_strays(disk, &scan.layout, &known) {
            Ok(found) => found,
            Err(error) => {
                self.doubt = Some(format!("failed to {error}"));
                return;
            }
        };
        // A file that is not ready has its own problem.
        let unknown = self.snapshot.unknown.iter();
        let told: BTreeSet<ArticleId> = unknown.filter_map(|unknown| unknown.id).collect();
        let is_new = |id: &ArticleId| missing.contains(id) && !told.contains(id);
        let path = |place: &Place| place.to_string().trim_start_matches('/').to_owned();
        for (place, id) in found.ids.into_iter().filter(|(_, id)| is_new(id)) {
            let id = Some(id);
            self.problems.push(Problem::at(path(&place), id, STRAY));
            self.snapshot.unknown.push(Unknown { place, id });
        }
        if let Some(place) = found.unreadable.first() {
            let path = path(place);
            self.doubt = Some(format!(
                "{path} could not be read, and may be an article's file"
            ));
        }
    }

    /// Returns the articles whose file was not found although its folder was listed completely.
    fn missing(&self, base: &Base, in_motion: &InMotion, scan: &Scan) -> BTreeSet<ArticleId> {
        let files = self.snapshot.files.iter();
        let named: HashSet<ArticleId> = files.clone().filter_map(|file| file.id).collect();
        let present: HashSet<&Place> = files.map(|file| &file.place).collect();
        base.articles
            .values()
            .filter(|row| {
                !named.contains(&row.id)
                    && !in_motion.covers(&row.place)
                    && (present.contains(&row.place) || scan.proves_absent(&row.place))
            })
            .map(|row| row.id)
            .collect()
    }

    /// Counts missing files as present until their grace time is over. `held`: articles whose missing files wait for a
    /// person.
    pub(super) fn mark_just_gone(
        &mut self,
        base: &Base,
        in_motion: &InMotion,
        held: &BTreeSet<ArticleId>,
    ) {
        let snapshot = &mut self.snapshot;
        let files = snapshot.files.iter();
        let named: HashSet<ArticleId> = files.clone().filter_map(|file| file.id).collect();
        let unknown = snapshot.unknown.iter().map(|unknown| &unknown.place);
        let without_id = files.clone().filter(|file| file.id.is_none());
        // A renamed folder takes its files along.
        let along: HashSet<Place> = without_id
            .filter_map(|file| {
                let mut categories = snapshot.categories.iter();
                let category = categories.find(|category| category.folder == file.place.folder)?;
                let folder = base.categories.get(&category.id?)?.folder.as_ref()?;
                Some(Place::new(folder, &file.place.file))
            })
            .collect();
        let there: HashSet<&Place> = files
            .map(|file| &file.place)
            .chain(unknown)
            .chain(&along)
            .collect();
        let rows = base.articles.values();
        let missing: Vec<&Place> = rows
            .filter(|row| !named.contains(&row.id) && !held.contains(&row.id))
            .map(|row| &row.place)
            .filter(|place| !there.contains(place))
            .collect();
        self.side.missing = missing.iter().map(ToString::to_string).collect();
        let missing = missing.into_iter();
        let just_gone = missing.filter(|place| !in_motion.grace_is_over(place));
        let just_gone: Vec<Unknown> = just_gone.map(Unknown::at).collect();
        // These removals do not count yet.
        self.side.may_hide_removals |= !just_gone.is_empty();
        for unknown in just_gone {
            let folder = &unknown.place.folder;
            if snapshot.top.insert(fold(folder)) {
                snapshot.unreadable.insert(folder.clone());
            }
            snapshot.unknown.push(unknown);
        }
    }

    /// Counts files at paths in motion as present.
    pub(super) fn mark_in_motion(&mut self, base: &Base, in_motion: &InMotion) {
        let paths = &in_motion.listed.paths;
        if paths.is_empty() {
            return;
        }
        let snapshot = &mut self.snapshot;
        // A moved file is known by its new place.
        let named: BTreeSet<ArticleId> = snapshot.files.iter().filter_map(|file| file.id).collect();
        let present: BTreeSet<Place> = snapshot
            .unknown
            .iter()
            .map(|unknown| unknown.place.clone())
            .collect();
        let gone = base.articles.values().filter(|row| {
            in_motion.covers(&row.place)
                && !named.contains(&row.id)
                && !present.contains(&row.place)
        });
        snapshot
            .unknown
            .extend(gone.map(|row| Unknown::at(&row.place)));
        for path in paths.iter().map(|path| path.trim_end_matches('/')) {
            if let Some((folder, file)) = path.split_once('/') {
                let taken = snapshot.names.entry(folder.to_owned()).or_default();
                taken.insert(fold(file));
                if file.ends_with(CONFLICT_EXTENSION) {
                    let copy = Place::new(folder, file);
                    snapshot.copies.entry(copy).or_default();
                }
                continue;
            }
            let mut rows = base.categories.values();
            if rows.any(|row| row.folder.as_deref() == Some(path)) {
                snapshot.unreadable.insert(path.to_owned());
            }
            snapshot.top.insert(fold(path));
        }
        let words = snapshot
            .categories
            .iter()
            .map(|category| category.folder.clone())
            .filter(|folder| in_motion.covers_file(folder, CATEGORY_FILE));
        snapshot.unready_categories.extend(words);
        // A half-written file is no problem yet.
        self.problems.retain(|problem| {
            let path = problem.path.split_once('/');
            !path.is_some_and(|(folder, file)| in_motion.covers(&Place::new(folder, file)))
        });
    }
}

/// Drops the rows of articles whose files were removed while ignored; none while a request is pending or a part of the
/// mirror is unreadable, because the file may be elsewhere.
pub(super) fn forget_out_of_scope<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
    base: &mut Base,
    scanned: &mut Scanned,
    in_motion: &InMotion,
) -> anyhow::Result<()> {
    let is_sure = scanned.doubt.is_none() && scanned.snapshot.unreadable_files.is_empty();
    let rows = base.articles.values();
    let ignored = rows.filter(|row| scanned.side.layout.ignores(&row.place));
    let ignored: Vec<(ArticleId, Place)> = ignored.map(|row| (row.id, row.place.clone())).collect();
    if ignored.is_empty() || !is_sure || !engine.store.pending_requests()?.is_empty() {
        return Ok(());
    }
    let files = scanned.snapshot.files.iter().filter_map(|file| file.id);
    let unknown = scanned.snapshot.unknown.iter();
    let named: BTreeSet<ArticleId> = files
        .chain(unknown.filter_map(|unknown| unknown.id))
        .chain(base.conflicts.keys().copied())
        .collect();
    let mut left = ignored;
    left.retain(|(id, place)| {
        !named.contains(id) && !in_motion.covers(place) && is_gone(&*engine.disk, place)
    });
    if left.is_empty() {
        return Ok(());
    }
    for (id, place) in &left {
        base.articles.remove(id);
        let unknown = &mut scanned.snapshot.unknown;
        unknown.retain(|unknown| unknown.place != *place);
    }
    engine.store.write_unless_dry_run(|tx| {
        left.iter().try_for_each(|(id, place)| {
            tx.remove_article(*id)?;
            let why = "its file was removed while `.kbsyncignore` named it";
            tx.event(&Deed::new(
                "forget",
                Side::Both,
                &place.to_string(),
                Some(*id),
                why,
            ))
        })
    })?;
    Ok(())
}

/// Returns whether there is certainly no file at a place.
fn is_gone(disk: &impl Disk, place: &Place) -> bool {
    let folder = disk.look(At::Root, &place.folder);
    let file = || disk.look(At::Folder(&place.folder), &place.file);
    match folder {
        Ok(None) => true,
        Ok(Some(_)) => matches!(file(), Ok(None)),
        Err(_) => false,
    }
}

/// Makes an unknown entry of a file in motion.
pub(super) fn unknown(file: &ScannedFile, place: &Place) -> Unknown {
    let id = match file {
        ScannedFile::Unchanged { id, .. } => Some(*id),
        ScannedFile::Ready { document, .. } => Document::id(document),
        ScannedFile::NotReady { problem, .. } => problem.id,
        ScannedFile::Present { .. } => None,
    };
    Unknown {
        place: place.clone(),
        id,
    }
}
