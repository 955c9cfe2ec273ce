//! Paths in motion: what was touched a moment ago, or went so lately that it may come back.
//!
//! In a cycle that looks at everything such a place is present and unknown, whatever the scan found there: it
//! is neither sent nor written nor missed, and takes part again when it has settled. All else goes on as ever.

use super::local::Scanned;
use crate::engine::waiting::Held;
use crate::mirror::disk::{At, Disk};
use crate::mirror::document::Document;
use crate::mirror::scan::{ScannedFile, settled};
use crate::model::path::{CATEGORY_FILE, CONFLICT_EXTENSION, fold};
use crate::model::{ArticleId, Place, Stamp, Timestamp};
use crate::reconcile::snapshot::{Base, Unknown};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// The paths in motion, of files and of folders.
#[derive(Clone, Debug, Default)]
pub(in crate::engine) struct Unsettled {
    places: BTreeSet<Place>,
    folders: BTreeSet<String>,
    /// The same as they clash.
    folded: BTreeSet<String>,
    /// When this was said, and which articles were known to have no file by then.
    since: Option<(Timestamp, BTreeSet<ArticleId>)>,
    /// Paths that were waited for already.
    gone: BTreeSet<String>,
}

impl Unsettled {
    pub(in crate::engine) fn new(paths: &BTreeSet<String>) -> Self {
        let mut unsettled = Self::default();
        for path in paths {
            let path = path.trim_end_matches('/');
            unsettled.folded.insert(fold(path));
            match path.split_once('/') {
                Some((folder, file)) => {
                    unsettled.places.insert(Place::new(folder, file));
                }
                None => {
                    unsettled.folders.insert(path.to_owned());
                }
            }
        }
        unsettled
    }

    /// The same, with when it was said, what waits since before, and what was waited for already.
    pub(super) fn since(self, moment: Timestamp, held: &[Held], gone: &BTreeSet<String>) -> Self {
        let known = held.iter().filter_map(|held| held.id).collect();
        Self {
            since: Some((moment, known)),
            gone: gone.clone(),
            ..self
        }
    }

    /// Returns whether a place went long enough ago, by itself or with its folder.
    fn was_waited_for(&self, place: &Place) -> bool {
        self.gone.contains(&place.folder) || self.gone.contains(&place.to_string())
    }

    /// Returns whether a place is in motion, by itself or with its folder.
    pub(in crate::engine) fn covers(&self, place: &Place) -> bool {
        self.covers_file(&place.folder, &place.file)
    }

    /// The same for a place that is not put together.
    pub(super) fn covers_file(&self, folder: &str, file: &str) -> bool {
        !self.folded.is_empty()
            && (self.folded.contains(&fold(folder))
                || self.folded.contains(&fold(&format!("{folder}/{file}"))))
    }

    /// Returns whether a folder or anything in it is in motion: whoever writes there goes by its name.
    pub(in crate::engine) fn is_about(&self, folder: &str) -> bool {
        let folder = fold(folder);
        let mut paths = self.folded.iter();
        paths.any(|path| {
            let rest = path.strip_prefix(folder.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }

    /// Returns whether the category's words in this folder are in motion.
    fn covers_words(&self, folder: &str) -> bool {
        self.covers(&Place::new(folder, CATEGORY_FILE))
    }

    /// What a file in motion is.
    pub(super) fn unknown(file: &ScannedFile, place: &Place) -> Unknown {
        let id = match file {
            ScannedFile::Unchanged { id, .. } => Some(*id),
            ScannedFile::Ready { document, .. } => Document::id(document),
            ScannedFile::NotReady { id, .. } => *id,
            ScannedFile::Present { .. } => None,
        };
        Unknown {
            place: place.clone(),
            id,
        }
    }
}

impl Scanned {
    /// What went after it was said what is in motion has not been waited for yet: it counts as there. When a
    /// name last went from a folder, the folder's own stamp tells; of a folder that went, the root's does.
    pub(super) fn keep_just_gone(&mut self, disk: &impl Disk, base: &Base, unsettled: &Unsettled) {
        let Some((since, known)) = &unsettled.since else {
            return;
        };
        let since = since.0.saturating_mul(1_000_000);
        let snapshot = &mut self.snapshot;
        let files = snapshot.files.iter();
        let named: HashSet<ArticleId> = files.clone().filter_map(|file| file.id).collect();
        let mut missing: BTreeSet<&Place> = base
            .articles
            .values()
            .filter(|row| !named.contains(&row.id) && !known.contains(&row.id))
            .map(|row| &row.place)
            .filter(|place| !unsettled.was_waited_for(place))
            .collect();
        let unknown = snapshot.unknown.iter().map(|unknown| &unknown.place);
        for place in files.map(|file| &file.place).chain(unknown) {
            missing.remove(place);
        }
        let young = |stamp: Option<Stamp>| stamp.is_some_and(|stamp| !settled(&stamp, since));
        let mut folders: BTreeMap<&str, bool> = BTreeMap::new();
        let mut just_gone = Vec::new();
        for place in missing {
            let in_motion = *folders.entry(&place.folder).or_insert_with(|| {
                match disk.look(At::Root, &place.folder) {
                    Ok(Some(folder)) => young(Some(folder.stamp)),
                    Ok(None) if young(disk.root_stamp().ok()) => {
                        snapshot.unreadable.insert(place.folder.clone());
                        snapshot.top.insert(fold(&place.folder));
                        true
                    }
                    // What cannot be looked at was no part of the scan either.
                    Ok(None) | Err(_) => false,
                }
            });
            if in_motion {
                just_gone.push(Unknown {
                    place: place.clone(),
                    id: None,
                });
            }
        }
        snapshot.unknown.extend(just_gone);
    }

    /// What went a moment ago counts as there.
    pub(super) fn keep_in_motion(&mut self, base: &Base, unsettled: &Unsettled) {
        if unsettled.folded.is_empty() {
            return;
        }
        let snapshot = &mut self.snapshot;
        // Whoever was moved is where it was moved to.
        let named: BTreeSet<ArticleId> = snapshot.files.iter().filter_map(|file| file.id).collect();
        let lying: BTreeSet<Place> = snapshot
            .unknown
            .iter()
            .map(|unknown| unknown.place.clone())
            .collect();
        let gone = base.articles.values().filter(|row| {
            unsettled.covers(&row.place) && !named.contains(&row.id) && !lying.contains(&row.place)
        });
        snapshot.unknown.extend(gone.map(|row| Unknown {
            place: row.place.clone(),
            id: None,
        }));
        for place in &unsettled.places {
            let taken = snapshot.names.entry(place.folder.clone()).or_default();
            taken.insert(fold(&place.file));
            if place.file.ends_with(CONFLICT_EXTENSION) {
                snapshot.copies.entry(place.clone()).or_default();
            }
        }
        for folder in &unsettled.folders {
            if base
                .categories
                .values()
                .any(|row| row.folder.as_ref() == Some(folder))
            {
                snapshot.unreadable.insert(folder.clone());
            }
            snapshot.top.insert(fold(folder));
        }
        let words = snapshot
            .categories
            .iter()
            .map(|category| category.folder.clone())
            .filter(|folder| unsettled.covers_words(folder));
        snapshot.unready_categories.extend(words);
        // What is half written is no problem yet.
        self.problems.retain(|problem| {
            let path = problem.path.split_once('/');
            !path.is_some_and(|(folder, file)| unsettled.covers(&Place::new(folder, file)))
        });
    }
}
