//! The places of articles when the two sides last agreed.

use super::folders;
use crate::model::{ArticleId, CategoryId, Place};
use crate::reconcile::snapshot::{Base, LocalFile};
use std::collections::{BTreeMap, HashMap};

/// The places in the state: a category and a file's name, not a folder's. Where a folder is not its
/// category's any more, the place itself counts.
pub(super) struct StatePlaces<'a> {
    by_category: HashMap<(CategoryId, &'a str), ArticleId>,
    /// The categories of the folders in the state.
    categories: BTreeMap<&'a str, CategoryId>,
    exact: HashMap<&'a Place, ArticleId>,
    base: &'a Base,
}

impl<'a> StatePlaces<'a> {
    pub(super) fn of(base: &'a Base) -> Self {
        let categories = folders::of_rows(base);
        let rows = base.articles.values();
        let mut by_category: HashMap<(CategoryId, &str), ArticleId> = rows
            .clone()
            .filter_map(|row| {
                let category = *categories.get(row.place.folder.as_str())?;
                Some(((category, row.place.file.as_str()), row.id))
            })
            .collect();
        // The folder was renamed since, and the file could not be read then: it is where its folder is.
        for row in rows.clone() {
            if !categories.contains_key(row.place.folder.as_str()) {
                by_category
                    .entry((row.local.category, row.place.file.as_str()))
                    .or_insert(row.id);
            }
        }
        Self {
            by_category,
            categories,
            exact: rows.map(|row| (&row.place, row.id)).collect(),
            base,
        }
    }

    /// The article that had this place when the two sides last agreed.
    pub(super) fn owner(&self, category: Option<CategoryId>, place: &Place) -> Option<ArticleId> {
        category
            .and_then(|id| self.by_category.get(&(id, place.file.as_str())))
            .or_else(|| self.exact.get(place))
            .copied()
    }

    /// Returns which of the files that name an article is at the article's recorded place. Another article may have
    /// had this place, too: its file was moved away, and the two sides do not agree on it since.
    pub(super) fn home(&self, id: ArticleId, files: &[LocalFile]) -> Option<usize> {
        let row = self.base.articles.get(&id)?;
        let folder = row.place.folder.as_str();
        let category = self.categories.get(folder).copied();
        let category = category.unwrap_or(row.local.category);
        let along = |file: &LocalFile| {
            file.version.category == category && file.place.file == row.place.file
        };
        // A renamed folder took its files along: what lies in a new folder of the old name is a copy.
        let found = files.iter().position(along);
        let owned = |file: &LocalFile| self.owner_of(file) == Some(id);
        found.or_else(|| files.iter().position(owned))
    }

    /// The article whose file this is by its folder's category, wherever that folder is now.
    pub(super) fn owner_along(&self, file: &LocalFile) -> Option<ArticleId> {
        let place = (file.version.category, file.place.file.as_str());
        self.by_category.get(&place).copied()
    }

    pub(super) fn owner_of(&self, file: &LocalFile) -> Option<ArticleId> {
        self.owner(Some(file.version.category), &file.place)
    }
}
