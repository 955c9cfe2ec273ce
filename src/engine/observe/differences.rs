//! The differences from the index: the few articles that a look has to compare, where that is enough.
//!
//! It is enough while the base is at rest: the last look at everything left nothing open. Then an article whose stamp
//! and entry are those of the index is [`Quiet`](crate::reconcile::plan::Outcome::Quiet), and its row is not loaded. A
//! look at some paths asks less of the base, and more of the articles at these paths ([`super::paths`]).
//!
//! It is not enough where a file or an entry came, went or moved, a category's words changed, or something cannot be
//! read. Then all rows are loaded and compared.

use super::load_beside;
use super::local::{FEW, Found};
use super::paths::{self, indexed_at};
use crate::engine::backoff::{ASK_AGAIN, Backoff};
use crate::engine::index::{Index, Shown, shown};
use crate::engine::listing::{ArticleRows, Listing};
use crate::engine::settings::{CycleRequest, Look, Settings};
use crate::engine::{Engine, Gathered, open_actions};
use crate::mirror::disk::Disk;
use crate::model::base::{ArticleRow, IndexRow};
use crate::model::{ArticleId, Timestamp};
use crate::reconcile::listed_as_known;
use crate::reconcile::snapshot::{Base, Remote};
use crate::service::{ListEnd, Service};
use crate::state::Target;
use crate::state::store::Store;
use std::collections::BTreeSet;

/// Loads the index, and the base without articles. `None`: the differences from the index are not enough.
pub(super) fn indexed<S, D>(engine: &Engine<S, D>) -> anyhow::Result<Option<(Index, Base)>> {
    if let Look::Paths(places) = &engine.request.look {
        return indexed_at(engine, places);
    }
    let (store, now) = (&engine.store, engine.store.now());
    if store.at_rest()?.is_none() || !is_at_rest(store, &engine.request)? {
        return Ok(None);
    }
    let index = Index::of(store.index()?);
    let base = load_beside(store)?;
    let backoff = Backoff::read(store, &engine.request)?;
    let rests = |row: &IndexRow| {
        shown(row) != Shown::Hidden || backoff.is_backing_off(Target::Article(row.id))
    };
    let asks_nothing = base.categories.values().all(|row| now < again(row.read_at))
        && index.rows().all(rests)
        && backoff.is_calm(|id| index.row(id).is_some());
    Ok(asks_nothing.then_some((index, base)))
}

/// Returns whether the mirror differs from the index by the words of files at most.
pub(super) fn is_as_indexed(
    store: &Store,
    settings: &Settings,
    found: &Found,
    look: &Look,
    index: &Index,
    base: &Base,
) -> anyhow::Result<bool> {
    let has_mark = match look {
        Look::Paths(_) => true,
        Look::Whole => store.at_rest()? == Some(settings.rest_mark(found.layout())),
    };
    Ok(has_mark && found.is_as_indexed(index, base, store)?)
}

/// Returns whether nothing stands open, and nothing more is asked for than that both sides be equal.
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

/// Returns the rows of the articles that differ on either side, and leaves no other article in the listing. `None`: not
/// only the words of articles differ.
pub(super) fn differences<S: Service, D: Disk>(
    engine: &Engine<S, D>,
    index: &Index,
    base: &Base,
    found: &Found,
    listing: &mut Listing,
) -> anyhow::Result<Option<ArticleRows>> {
    let look = &engine.request.look;
    let ids = match look {
        Look::Paths(_) => Some(index.rows().map(|row| row.id).collect()),
        Look::Whole => not_as_listed(&engine.gathered, index, listing).map(|mut ids| {
            ids.extend(found.read_ids());
            ids
        }),
    };
    let is_listed = |id: &ArticleId| {
        let row = index.row(*id);
        *look != Look::Whole || row.is_some_and(|row| shown(row) == Shown::Listed)
    };
    let Some(ids) = ids.filter(|ids| ids.len() <= FEW && ids.iter().all(is_listed)) else {
        return Ok(None);
    };
    let mut rows = ArticleRows::new();
    for id in &ids {
        rows.extend(engine.store.article(*id)?.map(|row| (*id, row)));
    }
    let stays = |row: &ArticleRow| {
        paths::is_in_its_folder(row, &base.categories)
            && match listing.articles.get(&row.id) {
                Some(Remote::Present(seen)) => paths::stays(row, seen),
                Some(Remote::Gone | Remote::NotVisible(_) | Remote::Unknown(_)) => false,
                // The listing shows it as the base has it.
                None => true,
            }
    };
    if rows.len() < ids.len() || !rows.values().all(stays) {
        return Ok(None);
    }
    listing.known.retain(|id| ids.contains(id));
    Ok(Some(rows))
}

/// Returns the articles that the listing does not show as the index has them. `None`: something came or went, or
/// cannot be read.
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
        && listing.nameless.is_empty()
        && listing.categories.is_empty()
        && listing.bodiless.is_empty();
    if !plain {
        return None;
    }
    let mut left: BTreeSet<ArticleId> = listing.articles.keys().copied().collect();
    let mut expected = 0;
    for row in index.rows() {
        match shown(row) {
            Shown::Open => return None,
            Shown::Hidden => {}
            Shown::Listed => {
                expected += 1;
                if same && !listed_as_known(row.is_own, row.flags, row.flags) {
                    left.insert(row.id);
                }
            }
        }
    }
    for id in &listing.known {
        let row = index.row(*id).filter(|row| shown(row) == Shown::Listed)?;
        let entry = gathered.memory.as_ref()?.entry(*id)?;
        if !listed_as_known(row.is_own, entry.flags, row.flags) {
            left.insert(*id);
        }
    }
    // No article comes twice in a listing.
    let listed = listing.known.len() + listing.articles.len();
    (same || listed == expected).then_some(left)
}

/// Returns when a category is read again.
fn again(at: Timestamp) -> Timestamp {
    let rest = i64::try_from(ASK_AGAIN).unwrap_or(i64::MAX);
    Timestamp(at.0.saturating_add(rest))
}
