//! Paths in motion: files and folders that changed a moment ago, or were removed so recently that they may come back.
//!
//! In a cycle that looks at everything such a place is present and unknown, whatever the scan found there: it
//! is neither sent nor written nor missed, and takes part again when it has settled. All else goes on as ever.

use crate::mirror::document::Document;
use crate::mirror::scan::ScannedFile;
use crate::model::path::{CATEGORY_FILE, fold};
use crate::model::{ArticleId, Place, Timestamp};
use crate::reconcile::snapshot::Unknown;
use std::collections::BTreeSet;

/// The paths in motion, of files and of folders.
#[derive(Clone, Debug, Default)]
pub(in crate::engine) struct InMotion {
    pub(super) places: BTreeSet<Place>,
    pub(super) folders: BTreeSet<String>,
    /// The paths in the form in which they collide.
    pub(super) folded: BTreeSet<String>,
    /// The time of the list, and the articles that were known to have no file by then.
    pub(super) since: Option<(Timestamp, BTreeSet<ArticleId>)>,
    /// Removed paths whose grace time is over.
    grace_over: BTreeSet<String>,
}

impl InMotion {
    pub(in crate::engine) fn new(paths: &BTreeSet<String>) -> Self {
        let mut in_motion = Self::default();
        for path in paths {
            let path = path.trim_end_matches('/');
            in_motion.folded.insert(fold(path));
            match path.split_once('/') {
                Some((folder, file)) => {
                    in_motion.places.insert(Place::new(folder, file));
                }
                None => {
                    in_motion.folders.insert(path.to_owned());
                }
            }
        }
        in_motion
    }

    /// Adds the time of the list, the articles that wait since before, and the removed paths whose grace time is over.
    pub(super) fn since(
        self,
        moment: Timestamp,
        known: BTreeSet<ArticleId>,
        grace_over: &BTreeSet<String>,
    ) -> Self {
        Self {
            since: Some((moment, known)),
            grace_over: grace_over.clone(),
            ..self
        }
    }

    /// Returns whether a place went long enough ago, by itself or with its folder.
    pub(super) fn was_waited_for(&self, place: &Place) -> bool {
        self.grace_over.contains(&place.folder) || self.grace_over.contains(&place.to_string())
    }

    /// Returns whether a place is in motion, by itself or with its folder.
    pub(in crate::engine) fn covers(&self, place: &Place) -> bool {
        self.covers_file(&place.folder, &place.file)
    }

    /// Returns whether a file in a folder is in motion.
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
    pub(super) fn covers_words(&self, folder: &str) -> bool {
        self.covers(&Place::new(folder, CATEGORY_FILE))
    }

    /// Makes an unknown file of a file in motion.
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
