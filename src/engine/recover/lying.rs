//! What lies in the mirror, by id and by place: an earlier run may have left behind as many steps as there are files.

use crate::engine::observe::Sight;
use crate::model::base::ArticleRow;
use crate::model::{ArticleId, Place};
use crate::reconcile::snapshot::LocalFile;
use std::collections::{BTreeSet, HashMap, HashSet};

/// The files of a scan.
#[derive(Default)]
pub(super) struct Lying<'a> {
    at: HashMap<&'a Place, &'a LocalFile>,
    of: HashMap<ArticleId, Vec<&'a LocalFile>>,
    /// What is there and cannot be read as an article.
    unknown_at: HashSet<&'a Place>,
    unknown_of: HashSet<ArticleId>,
}

impl<'a> Lying<'a> {
    /// Those that were seen.
    pub(super) fn of(sight: &'a Sight) -> Self {
        let mut lying = Self::default();
        for file in &sight.local.files {
            lying.at.insert(&file.place, file);
            if let Some(id) = file.id {
                lying.of.entry(id).or_default().push(file);
            }
        }
        for unknown in &sight.local.unknown {
            lying.unknown_at.insert(&unknown.place);
            lying.unknown_of.extend(unknown.id);
        }
        lying
    }

    /// Returns whether a ready file lies there.
    pub(super) fn is_seen(&self, place: &Place) -> bool {
        self.at.contains_key(place)
    }

    /// Returns whether something that is not ready names an article.
    pub(super) fn is_unready(&self, id: ArticleId) -> bool {
        self.unknown_of.contains(&id)
    }

    /// The files that name an article, in the order of their places.
    pub(super) fn named(&self, id: ArticleId) -> &[&'a LocalFile] {
        self.of.get(&id).map_or(&[], Vec::as_slice)
    }

    /// The file of an intent: where it was to be, or where the writer has moved it since. One without an id is it only
    /// where no other one names the article.
    pub(super) fn file_of(
        &self,
        id: ArticleId,
        to: &Place,
        names: &BTreeSet<Place>,
    ) -> Option<&'a LocalFile> {
        let there = |whose: Option<ArticleId>| {
            let file = self.at.get(to).copied();
            file.filter(|file| file.id == whose)
        };
        let mut own = self.named(id).iter().copied();
        there(Some(id))
            .or_else(|| own.find(|file| !names.contains(&file.place)))
            .or_else(|| there(None))
    }

    /// Returns whether an article's file says something else, wherever its writer has put it.
    pub(super) fn is_edited(&self, row: &ArticleRow) -> bool {
        let mut own = self.named(row.id).iter();
        own.any(|file| !file.version.same_words(&row.local))
    }

    /// Returns whether nothing in the mirror is an article's file.
    pub(super) fn is_missing(&self, row: &ArticleRow, to: &Place) -> bool {
        let lies = |place: &Place| self.at.contains_key(place) || self.unknown_at.contains(place);
        self.named(row.id).is_empty() && !self.is_unready(row.id) && !lies(&row.place) && !lies(to)
    }
}
