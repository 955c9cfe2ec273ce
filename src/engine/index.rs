//! The index of the base: of each article as much as shows whether the article changed. A look reads the index in one
//! pass, and the rows of the articles that changed.

use crate::model::base::{IndexRow, Visibility};
use crate::model::{ArticleId, Place, Stamp};
use crate::reconcile::snapshot::Base;
use std::collections::HashMap;

/// The articles that a look compares with.
pub(super) struct Index {
    rows: HashMap<ArticleId, IndexRow>,
}

/// The article whose file is at a place, and the file's stamp.
pub(super) type Places<'a> = HashMap<&'a Place, (ArticleId, Option<Stamp>)>;

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
    /// Takes the rows of an index.
    pub(super) fn of(rows: Vec<IndexRow>) -> Self {
        Self {
            rows: rows.into_iter().map(|row| (row.id, row)).collect(),
        }
    }

    /// Returns one article's row.
    pub(super) fn row(&self, id: ArticleId) -> Option<&IndexRow> {
        self.rows.get(&id)
    }

    /// Returns all rows.
    pub(super) fn rows(&self) -> impl Iterator<Item = &IndexRow> {
        self.rows.values()
    }

    /// Returns how many articles there are.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns the places of the files.
    pub(super) fn places(&self) -> Places<'_> {
        places(self.rows().map(|row| (&row.place, row.id, row.stamp)))
    }
}

/// Returns the places of the files of a base.
pub(super) fn places_of(base: &Base) -> Places<'_> {
    let rows = base.articles.values();
    places(rows.map(|row| (&row.place, row.id, row.stamp)))
}

/// Where two articles have one place, neither the place nor a stamp shows whose file it is.
fn places<'a>(rows: impl Iterator<Item = (&'a Place, ArticleId, Option<Stamp>)>) -> Places<'a> {
    let mut places = HashMap::with_capacity(rows.size_hint().0);
    let mut doubled = Vec::new();
    for (place, id, stamp) in rows {
        if places.insert(place, (id, stamp)).is_some() {
            doubled.push(place);
        }
    }
    for place in doubled {
        places.remove(place);
    }
    places
}

/// Returns where an article is expected.
pub(super) fn shown(row: &IndexRow) -> Shown {
    match row.visibility {
        Visibility::Published if row.flags.enabled != Some(false) => Shown::Listed,
        Visibility::Unpublished => Shown::Hidden,
        Visibility::Published | Visibility::NotVisible | Visibility::Gone => Shown::Open,
    }
}
