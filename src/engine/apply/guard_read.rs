//! The guard read: no version is overwritten unseen. See `docs/decisions/09-read-before-write.md`.
//!
//! A version is *seen* while the listing or GET that showed it is younger than `guard_window`. Otherwise the article is
//! read again before it is replaced: one article by GET, several by one listing, an unpublished one by a probe. An
//! article that changed since is left to the next cycle. A step that needs a read and a write waits for room
//! for both: a read whose write must wait for budget would be wasted.

use super::category::is_category_seen;
use super::{ApplyState, NotDone, fail_one_article, failed};
use crate::engine::Engine;
use crate::engine::history::entry::seen_there;
use crate::engine::listing::{Listing, Memory, list, read_one, take_seen};
use crate::engine::observation::{SeenAt, version_of};
use crate::engine::settings::Settings;
use crate::mirror::disk::Disk;
use crate::model::base::Visibility;
use crate::model::{ArticleId, Flags, Revision};
use crate::reconcile::is_outdated;
use crate::reconcile::plan::{Action, Step};
use crate::reconcile::snapshot::{Remote, Seen};
use crate::service::{ListRequest, Purpose, RemoteArticle, Service, ServiceError};

/// The number of unsent writes from which one listing is cheaper than a GET for each. After a listing that expired with
/// fewer uses, GETs follow.
const LIST_FROM: usize = 2;

/// Makes sure that the version to be replaced is still the one in the plan.
pub(super) async fn ensure_seen<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
    id: ArticleId,
    seen: &Seen,
    state: &mut ApplyState<'_>,
) -> Result<(), NotDone> {
    let window = engine.settings.guard_window;
    let read_first = state.observed.service.read_first.contains(&id);
    if is_seen(&engine.settings, id, state) {
        if state.reseen.contains_key(&id) {
            state.listing_uses = state.listing_uses.map(|uses| uses + 1);
        }
        return ensure_unchanged(id, seen, state);
    }
    // A listing is no guard read of an article in `read_first`.
    let several = state.listing_uses.is_none_or(|uses| uses >= LIST_FROM);
    let listing = !read_first && state.to_send >= LIST_FROM && several;
    if !window.is_zero() && listing && seen.visibility == Visibility::Published {
        state.reseen.remove(&id);
        list_again(engine, state).await?;
        // After a slow listing, the version may be older than `guard_window` again.
        if is_seen(&engine.settings, id, state) {
            return ensure_unchanged(id, seen, state);
        }
    }
    let article = match read_one(&engine.service, id, seen.visibility, Purpose::Push).await {
        Ok(article) => article,
        Err(error) => {
            if read_first && !error.stops_all() {
                engine.gathered.answers.ask_again(id);
            }
            return Err(fail_one_article(error, state));
        }
    };
    // The answer to a GET has no flags.
    let has_flags = article.flags != Flags::default();
    let is_shown = has_flags && seen.flags.hides() && !article.flags.hides();
    let is_incomplete = article.text.is_none() && article.revision != seen.revision;
    let (version, revision) = (
        version_of(&article, &seen.version),
        article.revision.clone(),
    );
    if article.text.is_some() {
        take_seen(article, seen.visibility, state.row(id), &mut engine.store)?;
        engine.store.flush_bodies()?;
        let file = state.observed.paired.files.get(&id);
        if let Some(file) = file.filter(|_| state.row(id).is_none()) {
            let there = seen_there(id, &file.place, &version);
            engine.store.write(|tx| tx.record(&there).map(drop))?;
        }
    }
    // A version from before our own last write hides the present one.
    let row = state.row(id);
    if row.is_some_and(|row| is_outdated(row, &version, &revision)) {
        return Err(outdated_copy());
    }
    // A colleague who publishes a draft has changed it, and so may have one whose text is not shown.
    if is_shown || is_incomplete {
        return Err(changed_meanwhile());
    }
    state.reseen.insert(id, SeenAt::now());
    state.latest.insert(id, (version, revision));
    let unchanged = ensure_unchanged(id, seen, state);
    if read_first && unchanged.is_err() {
        engine.gathered.answers.ask_again(id);
    }
    unchanged
}

/// Returns whether an article was seen recently enough to be replaced.
pub(super) fn is_seen(settings: &Settings, id: ArticleId, state: &ApplyState<'_>) -> bool {
    let observed = &state.observed;
    let listed_at =
        || Some(observed.seen_at).filter(|_| !observed.service.read_first.contains(&id));
    let seen_at = state.reseen.get(&id).copied().or_else(listed_at);
    seen_at.is_some_and(|at| at.is_within(settings.guard_window))
}

/// Lists the workspace again, as a guard read of all unsent articles.
async fn list_again<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
    state: &mut ApplyState<'_>,
) -> Result<(), NotDone> {
    let at = SeenAt::now();
    let base = &state.observed.base;
    let memory = Memory::of(&mut engine.gathered.memory, &engine.store)?;
    let request = ListRequest {
        workspace: engine.settings.workspace,
        categories: base.categories.keys().copied().collect(),
        validator: None,
        known: Some(memory.known_entries(&base.articles)),
        purpose: Purpose::Push,
    };
    let (service, store) = (&engine.service, &mut engine.store);
    let mut listing = match list(service, request, store, memory).await {
        Ok(listing) => listing,
        Err(error) => return Err(failed(error.downcast::<ServiceError>()?)),
    };
    listing.recall(&base.articles, memory);
    state.listing_uses = Some(1);
    take_second_listing(&listing, at, state);
    Ok(())
}

/// Takes a second listing as a guard read of all unsent articles. An article under a revision that was never read is
/// read before it is replaced.
fn take_second_listing(listing: &Listing, at: SeenAt, state: &mut ApplyState<'_>) {
    for (id, entry) in &listing.articles {
        if let Remote::Present(seen) = entry {
            let row = state.row(*id);
            let is_stale = row.is_some_and(|row| is_outdated(row, &seen.version, &seen.revision));
            // A second listing may be stale, too, and does not show flags: these articles are read one by one.
            let observed = state.observed.remote.articles.get(id);
            let observed = observed.and_then(Remote::present);
            let was_hidden = observed.is_some_and(|seen| seen.flags.hides());
            if is_stale || was_hidden || state.observed.service.read_first.contains(id) {
                state.reseen.remove(id);
                state.observed.service.read_first.insert(*id);
                continue;
            }
            let version = (seen.version.clone(), seen.revision.clone());
            state.latest.insert(*id, version);
            state.reseen.insert(*id, at);
        }
    }
    mark_for_reading(listing.bodiless.values(), state);
}

/// Marks articles under a revision that was never read: they are read before they are replaced.
pub(super) fn mark_for_reading<'a>(
    articles: impl IntoIterator<Item = &'a RemoteArticle>,
    state: &mut ApplyState<'_>,
) {
    for article in articles {
        if !has_read(article.id, &article.revision, state) {
            state.reseen.remove(&article.id);
            state.observed.service.read_first.insert(article.id);
        }
    }
}

/// Returns whether an article was read under this revision in this cycle.
fn has_read(id: ArticleId, revision: &Revision, state: &ApplyState<'_>) -> bool {
    let known = state.latest.get(&id).map(|(_, revision)| revision);
    let listed = || Some(&state.observed.remote.articles.get(&id)?.present()?.revision);
    known.or_else(listed) == Some(revision)
}

/// Makes sure that an article that was read again has the version in the plan.
fn ensure_unchanged(id: ArticleId, seen: &Seen, state: &ApplyState<'_>) -> Result<(), NotDone> {
    match state.latest.get(&id) {
        Some((version, _)) if *version != seen.version => Err(changed_meanwhile()),
        Some(_) | None => Ok(()),
    }
}

/// Returns the reason to leave an article alone whose guard read is a stale read.
fn outdated_copy() -> NotDone {
    NotDone::Retry(
        "the service returned an outdated copy of this article, and kbsync tries again in the next sync; if this \
         goes on, save the article in the dashboard"
            .to_owned(),
    )
}

/// Returns the reason to leave an article alone that changed on the service.
pub(super) fn changed_meanwhile() -> NotDone {
    NotDone::Overtaken("the article changed on the service since it was read".to_owned())
}

/// Returns the reason to leave an article alone that the service deleted or hid: the next look finds out which.
pub(super) fn vanished() -> NotDone {
    NotDone::Overtaken(
        "the service does not find the article any more; the next sync finds out why".to_owned(),
    )
}

/// Waits until there is room for the requests of a step.
pub(super) async fn wait_for_room(
    service: &impl Service,
    settings: &Settings,
    action: &Action,
    state: &ApplyState<'_>,
) -> Result<(), NotDone> {
    let is_seen = if let Step::SettleCategory(settle) = &action.step {
        is_category_seen(settings.guard_window, settle.id, state)
    } else {
        let reads = action.as_settle().is_some() || action.deletes().is_some();
        let id = action.id.filter(|_| reads);
        id.is_none_or(|id| is_seen(settings, id, state))
    };
    // An operation of one request cannot be left half done.
    if is_seen || !action.sends() {
        return Ok(());
    }
    let room = service.wait_for_room(2, Purpose::Push).await;
    room.map_err(failed)
}
