//! The index of the base: of each article as much as shows whether the article changed. A look reads the index in one
//! pass, and the rows of the articles that changed.

use crate::model::base::{IndexRow, Visibility};
use crate::model::{ArticleId, Place, Stamp};
use crate::reconcile::snapshot::Base;
use std::cell::OnceCell;
use std::collections::HashMap;

/// The articles that a look compares with, in the order of their places.
pub(super) struct Index {
    rows: Vec<IndexRow>,
    /// The rows by id. A look at the mirror alone does not ask for it.
    by_id: OnceCell<HashMap<ArticleId, usize>>,
}

/// The articles by the places of their files, with the files' stamps. Where two articles have one place, neither the
/// place nor a stamp shows whose file it is.
pub(super) struct Places<'a>(Vec<(&'a Place, ArticleId, Option<Stamp>)>);

/// The place where an article is expected.
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
    /// Makes an index of its rows.
    pub(super) fn of(rows: Vec<IndexRow>) -> Self {
        Self {
            rows,
            by_id: OnceCell::new(),
        }
    }

    /// Returns one article's row.
    pub(super) fn row(&self, id: ArticleId) -> Option<&IndexRow> {
        let rows = self.rows.iter().enumerate();
        let by_id = self
            .by_id
            .get_or_init(|| rows.map(|(at, row)| (row.id, at)).collect());
        by_id.get(&id).map(|at| &self.rows[*at])
    }

    /// Returns all rows.
    pub(super) fn rows(&self) -> impl Iterator<Item = &IndexRow> {
        self.rows.iter()
    }

    /// Returns how many articles there are.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns the places of the files.
    pub(super) fn places(&self) -> Places<'_> {
        Places::of(self.rows().map(|row| (&row.place, row.id, row.stamp)))
    }
}

impl<'a> Places<'a> {
    /// Returns the places of the files of a base.
    pub(super) fn of_base(base: &'a Base) -> Self {
        let rows = base.articles.values();
        Self::of(rows.map(|row| (&row.place, row.id, row.stamp)))
    }

    fn of(rows: impl Iterator<Item = (&'a Place, ArticleId, Option<Stamp>)>) -> Self {
        let mut rows: Vec<_> = rows.collect();
        // Those of the index are in this order.
        rows.sort_by_key(|(place, ..)| *place);
        Self(rows)
    }

    /// Returns whether no article is known.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the article whose file is at a place, and the file's stamp.
    pub(super) fn get(&self, folder: &str, file: &str) -> Option<(ArticleId, Option<Stamp>)> {
        let wanted = (folder, file);
        let of = |at: usize| {
            let (place, ..) = self.0.get(at)?;
            Some((place.folder.as_str(), place.file.as_str()))
        };
        let at = self
            .0
            .partition_point(|(place, ..)| (place.folder.as_str(), place.file.as_str()) < wanted);
        let (_, id, stamp) = self.0.get(at).filter(|_| of(at) == Some(wanted))?;
        (of(at + 1) != Some(wanted)).then_some((*id, *stamp))
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
