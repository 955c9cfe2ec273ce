//! The index of the base: of each article as much as shows whether the article changed. A look reads it in one pass, and
//! loads the rows of the articles that changed.

use super::known::words_as_recorded;
use super::observe::load_beside;
use crate::mirror::disk::Disk;
use crate::mirror::scan::{Known, Vague};
use crate::model::ArticleId;
use crate::model::base::{IndexRow, Visibility};
use crate::reconcile::snapshot::Base;
use crate::state::StateError;
use crate::state::store::Store;
use std::collections::HashMap;

/// The index of a workspace, and its categories.
pub(super) struct Index {
    /// The places and stamps of all files.
    pub(super) mirror: Known,
    /// The base without articles.
    pub(super) beside: Base,
    rows: HashMap<ArticleId, IndexRow>,
}

/// Where an article is expected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shown {
    /// In the listing.
    Listed,
    /// Not in the listing: it is hidden, and the service said so.
    Hidden,
    /// That has to be found out.
    Open,
}

impl Index {
    /// Reads the index. An error: there is more to see than that.
    pub(super) fn read(disk: &impl Disk, store: &Store) -> Result<Result<Self, Vague>, StateError> {
        let mut mirror = match Known::with_rules_of(disk) {
            Ok(mirror) => mirror,
            Err(vague) => return Ok(Err(vague)),
        };
        let beside = load_beside(store)?;
        for row in beside.categories.values() {
            if let Some(folder) = &row.folder {
                mirror.put_folder(folder, row.stamp);
            }
        }
        let index = store.index()?;
        let mut rows = HashMap::with_capacity(index.len());
        for row in index {
            if !mirror.put_file(&row.place, row.id, row.stamp) {
                return Ok(Err(Vague::More));
            }
            rows.insert(row.id, row);
        }
        Ok(Ok(Self {
            mirror,
            beside,
            rows,
        }))
    }

    /// Returns one article's row.
    pub(super) fn row(&self, id: ArticleId) -> Option<&IndexRow> {
        self.rows.get(&id)
    }

    /// Returns all rows.
    pub(super) fn rows(&self) -> impl Iterator<Item = &IndexRow> {
        self.rows.values()
    }

    /// Returns whether the `_category.yaml` in each of these folders says what the state says.
    pub(super) fn words_stay(&self, disk: &impl Disk, folders: &[String]) -> bool {
        folders.iter().all(|folder| {
            let mut rows = self.beside.categories.values();
            let row = rows.find(|row| row.folder.as_ref() == Some(folder));
            row.is_some_and(|row| words_as_recorded(disk, row).is_some())
        })
    }
}

/// Returns where an article is expected.
pub(super) fn shown(row: &IndexRow) -> Shown {
    match row.visibility {
        Visibility::Published if row.flags.enabled != Some(false) => Shown::Listed,
        Visibility::Unpublished => Shown::Hidden,
        Visibility::Published | Visibility::NotVisible | Visibility::Gone => Shown::Open,
    }
}
