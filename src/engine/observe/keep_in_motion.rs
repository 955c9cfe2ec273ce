//! Files at paths in motion: each counts as present and unknown.

use super::local::Scanned;
use crate::engine::settings::InMotion;
use crate::mirror::disk::{At, Disk};
use crate::mirror::scan::predates;
use crate::model::path::{CONFLICT_EXTENSION, fold};
use crate::model::{ArticleId, Place, Stamp};
use crate::reconcile::snapshot::{Base, Unknown};
use std::collections::{BTreeMap, BTreeSet, HashSet};

impl Scanned {
    /// A file that went after the paths in motion were listed has not been waited for yet: it counts as there. The
    /// stamp of a folder tells when a name last left the folder; for a folder that is gone, the root's stamp does.
    pub(super) fn keep_just_gone(&mut self, disk: &impl Disk, base: &Base, in_motion: &InMotion) {
        let Some((since, known)) = &in_motion.since else {
            return;
        };
        let since = since.0.saturating_mul(1_000_000);
        let snapshot = &mut self.snapshot;
        let files = snapshot.files.iter();
        let named: HashSet<ArticleId> = files.clone().filter_map(|file| file.id).collect();
        let unknown = snapshot.unknown.iter().map(|unknown| &unknown.place);
        let there: HashSet<&Place> = files.map(|file| &file.place).chain(unknown).collect();
        let young = |stamp: Stamp| !predates(&stamp, since);
        let is_just_gone = |place: &Place| match disk.look(At::Root, &place.folder) {
            Ok(Some(folder)) => young(folder.stamp),
            Ok(None) => disk.root_stamp().is_ok_and(young),
            // What cannot be looked at was no part of the scan either.
            Err(_) => false,
        };
        let mut folders: BTreeMap<&str, bool> = BTreeMap::new();
        let rows = base.articles.values();
        let just_gone: Vec<Unknown> = rows
            .filter(|row| !named.contains(&row.id) && !known.contains(&row.id))
            .map(|row| &row.place)
            .filter(|place| !there.contains(place) && !in_motion.was_waited_for(place))
            .filter(|place| {
                let known = folders.entry(&place.folder);
                *known.or_insert_with(|| is_just_gone(place))
            })
            .map(Unknown::at)
            .collect();
        for unknown in just_gone {
            let folder = &unknown.place.folder;
            if snapshot.top.insert(fold(folder)) {
                snapshot.unreadable.insert(folder.clone());
            }
            snapshot.unknown.push(unknown);
        }
    }

    /// A file that went a moment ago counts as there.
    pub(super) fn keep_in_motion(&mut self, base: &Base, in_motion: &InMotion) {
        if in_motion.folded.is_empty() {
            return;
        }
        let snapshot = &mut self.snapshot;
        // A moved file counts at its new place.
        let named: BTreeSet<ArticleId> = snapshot.files.iter().filter_map(|file| file.id).collect();
        let lying: BTreeSet<Place> = snapshot
            .unknown
            .iter()
            .map(|unknown| unknown.place.clone())
            .collect();
        let gone = base.articles.values().filter(|row| {
            in_motion.covers(&row.place) && !named.contains(&row.id) && !lying.contains(&row.place)
        });
        snapshot
            .unknown
            .extend(gone.map(|row| Unknown::at(&row.place)));
        for place in &in_motion.places {
            let taken = snapshot.names.entry(place.folder.clone()).or_default();
            taken.insert(fold(&place.file));
            if place.file.ends_with(CONFLICT_EXTENSION) {
                snapshot.copies.entry(place.clone()).or_default();
            }
        }
        for folder in &in_motion.folders {
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
            .filter(|folder| in_motion.covers_words(folder));
        snapshot.unready_categories.extend(words);
        // What is half written is no problem yet.
        self.problems.retain(|problem| {
            let path = problem.path.split_once('/');
            !path.is_some_and(|(folder, file)| in_motion.covers(&Place::new(folder, file)))
        });
    }
}
