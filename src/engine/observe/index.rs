//! The index of the base, and the differences from it: the few articles that a look has to compare, if these are
//! enough.
//!
//! The index has just enough of each article to show whether it changed. A look reads the index in one pass, and then
//! only the rows of the articles that differ.
//!
//! The differences are enough while the base is at rest: the last look at everything left nothing open. An article
//! whose stamp and entry equal the index needs nothing, and its row is not loaded. A look at some paths needs less of
//! the base, and more of the articles at these paths ([`super::paths`]).
//!
//! The differences are not enough if a file or an entry came, went or moved, a category changed, or something cannot be
//! read. Then all rows are loaded and compared.

use super::Mirror;
use super::local::MAX_CHANGED;
use super::paths::{self, indexed_at};
use crate::engine::backoff::{ASK_AGAIN, Backoff};
use crate::engine::listing::{ArticleRows, Listing};
use crate::engine::settings::CycleRequest;
use crate::engine::{Engine, Gathered, open_actions};
use crate::mirror::disk::Disk;
use crate::model::base::{ArticleRow, IndexRow, Visibility};
use crate::model::{ArticleId, Place, Stamp};
use crate::reconcile::listed_as_known;
use crate::reconcile::snapshot::Base;
use crate::service::{ListEnd, Service};
use crate::state::store::Store;
use crate::state::{StateError, Target};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The articles to compare with, in the order of their places.
pub(in crate::engine) struct Index {
    pub(super) rows: Vec<IndexRow>,
    /// The rows by id, made on first use: a scan of the mirror alone does not need it.
    by_id: OnceCell<HashMap<ArticleId, usize>>,
}

/// The articles by the folders and names of their files, with the files' stamps. `None`: two articles share a place, so
/// neither place nor stamp shows whose file it is.
pub(super) type Places<'a> = HashMap<(&'a str, &'a str), Option<(ArticleId, Option<Stamp>)>>;

impl Index {
    /// Makes an index of its rows.
    pub(in crate::engine) fn of(rows: Vec<IndexRow>) -> Self {
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

    /// Returns the places of the files.
    pub(super) fn places(&self) -> Places<'_> {
        by_place(self.rows.iter().map(|row| (&row.place, row.id, row.stamp)))
    }
}

/// Returns the places of the files of a base.
pub(super) fn places_of(base: &Base) -> Places<'_> {
    let rows = base.articles.values();
    by_place(rows.map(|row| (&row.place, row.id, row.stamp)))
}

fn by_place<'a>(rows: impl Iterator<Item = (&'a Place, ArticleId, Option<Stamp>)>) -> Places<'a> {
    let mut places = Places::with_capacity(rows.size_hint().0);
    for (place, id, stamp) in rows {
        let known = places.entry((place.folder.as_str(), place.file.as_str()));
        let known = known.and_modify(|known| *known = None);
        known.or_insert(Some((id, stamp)));
    }
    places
}

/// Returns whether an article is expected in the listing.
fn is_listed(row: &IndexRow) -> bool {
    row.visibility == Visibility::Published && row.flags.enabled != Some(false)
}

/// Returns whether the service said that an article is hidden.
fn is_hidden(row: &IndexRow) -> bool {
    row.visibility == Visibility::Unpublished
}

/// Loads the index, and the base without articles. `None`: the differences from the index are not enough.
pub(super) fn indexed<S, D>(engine: &Engine<S, D>) -> anyhow::Result<Option<(Index, Base)>> {
    if let Some(places) = engine.request.files() {
        return indexed_at(engine, &places);
    }
    let (store, now) = (&engine.store, engine.store.now());
    if store.at_rest()?.is_none() || !is_at_rest(store, &engine.request)? {
        return Ok(None);
    }
    let index = Index::of(store.index()?);
    let base = load_beside(store)?;
    let backoff = Backoff::read(store, &engine.request)?;
    let rests = |row: &IndexRow| !is_hidden(row) || backoff.is_backing_off(Target::Article(row.id));
    let asks_nothing = base
        .categories
        .values()
        .all(|row| row.read_at.is_recent(now, ASK_AGAIN))
        && index.rows.iter().all(rests)
        && backoff.is_calm(|id| index.row(id).is_some());
    Ok(asks_nothing.then_some((index, base)))
}

/// Returns whether the mirror differs from the index in the content of files at most.
pub(super) fn is_as_indexed<S, D>(
    engine: &Engine<S, D>,
    index: &Index,
    mirror: &Mirror,
) -> anyhow::Result<bool> {
    let (store, scanned) = (&engine.store, &mirror.scanned);
    let has_mark = engine.request.files().is_some()
        || store.at_rest()? == Some(engine.settings.rest_mark(scanned.layout()));
    Ok(has_mark && scanned.is_as_indexed(index, &mirror.base, store)?)
}

/// Returns whether nothing is open, and the request only asks that both sides be equal.
fn is_at_rest(store: &Store, request: &CycleRequest) -> anyhow::Result<bool> {
    let is_for_all = request.scope.is_empty() && request.in_motion.paths.is_empty();
    Ok(request.is_plain()
        && is_for_all
        && store.pending_requests()?.is_empty()
        && store.conflicts()?.is_empty()
        && store.parked()?.is_empty()
        && store.approvals()?.is_empty()
        && open_actions::held(store)?.is_empty()
        && open_actions::failed(store)?.is_empty())
}

/// Returns the rows of the articles that differ on either side, and removes all other articles from the listing.
/// `None`: more than the content of articles differs.
pub(super) fn differences<S: Service, D: Disk>(
    engine: &Engine<S, D>,
    index: &Index,
    mirror: &Mirror,
    listing: &mut Listing,
) -> anyhow::Result<Option<ArticleRows>> {
    let is_paths = engine.request.files().is_some();
    let ids = if is_paths {
        Some(index.rows.iter().map(|row| row.id).collect())
    } else {
        not_as_listed(&engine.gathered, index, listing).map(|mut ids| {
            ids.extend(mirror.scanned.read_ids());
            ids
        })
    };
    let is_shown = |id: &ArticleId| is_paths || index.row(*id).is_some_and(is_listed);
    let Some(ids) = ids.filter(|ids| ids.len() <= MAX_CHANGED && ids.iter().all(is_shown)) else {
        return Ok(None);
    };
    let mut rows = ArticleRows::new();
    for id in &ids {
        rows.extend(engine.store.article(*id)?.map(|row| (*id, row)));
    }
    let stays = |row: &ArticleRow| {
        paths::is_in_its_folder(row, &mirror.base.categories)
            // An article that is not in the listing equals the base.
            && listing.articles.get(&row.id).is_none_or(|entry| {
                entry.present().is_some_and(|seen| paths::stays(row, seen))
            })
    };
    if rows.len() < ids.len() || !rows.values().all(stays) {
        return Ok(None);
    }
    listing.known.retain(|id| ids.contains(id));
    Ok(Some(rows))
}

/// Returns the articles whose entry differs from the index. `None`: an entry came or went, or cannot be read.
fn not_as_listed(
    gathered: &Gathered,
    index: &Index,
    listing: &Listing,
) -> Option<BTreeSet<ArticleId>> {
    let again = match listing.end.as_ref()? {
        ListEnd::Whole { by_category, .. } => !by_category,
        ListEnd::NotModified => true,
    };
    let same = listing.end == Some(ListEnd::NotModified);
    let plain = again
        && listing.unidentified.is_empty()
        && listing.categories.is_empty()
        && listing.bodiless.is_empty();
    if !plain {
        return None;
    }
    let mut left: BTreeSet<ArticleId> = listing.articles.keys().copied().collect();
    let mut expected = 0;
    for row in index.rows.iter().filter(|row| !is_hidden(row)) {
        if !is_listed(row) {
            // It has to be asked for.
            return None;
        }
        expected += 1;
        if same && !listed_as_known(row.is_own, row.flags, row.flags) {
            left.insert(row.id);
        }
    }
    for id in &listing.known {
        let row = index.row(*id).filter(|row| is_listed(row))?;
        let entry = gathered.memory.as_ref()?.entry(*id)?;
        if !listed_as_known(row.is_own, entry.flags, row.flags) {
            left.insert(*id);
        }
    }
    // No article comes twice in a listing.
    let listed = listing.known.len() + listing.articles.len();
    (same || listed == expected).then_some(left)
}

/// Loads the base.
pub(in crate::engine) fn load_base(store: &Store) -> Result<Base, StateError> {
    let rows = store.articles()?;
    Ok(Base {
        articles: rows.into_iter().map(|row| (row.id, row)).collect(),
        ..load_beside(store)?
    })
}

/// Loads the base without its articles.
pub(in crate::engine) fn load_beside(store: &Store) -> Result<Base, StateError> {
    let (categories, conflicts) = (store.categories()?, store.conflicts()?);
    Ok(Base {
        articles: BTreeMap::new(),
        categories: categories.into_iter().map(|row| (row.id, row)).collect(),
        conflicts: conflicts.into_iter().map(|row| (row.id, row)).collect(),
        creations: store.creations()?,
    })
}
