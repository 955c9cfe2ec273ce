//! Deletions of articles on the service, and of the rows of articles that are gone from both sides.
//!
//! A DELETE is final (`docs/api.md`, A4.8): the last version is stored in the history first.

use super::send::send_seen;
use super::{ApplyState, NotDone, StepResult};
use crate::engine::Engine;
use crate::engine::history::ended::noted;
use crate::engine::journal::Journal;
use crate::engine::open_actions::approved;
use crate::engine::pending::{PENDING, is_pending};
use crate::mirror::disk::{At, Disk, DiskErrorKind};
use crate::mirror::scan;
use crate::model::base::ArticleRow;
use crate::model::{ArticleId, Place, Revision, Side, Stamp};
use crate::reconcile::plan::Action;
use crate::reconcile::snapshot::Seen;
use crate::service::Service;
use crate::state::store::Store;
use crate::state::{Deed, Deletion, PutOrDelete, RowChange, SeenVersion, StateResult};

/// Deletes an article whose file was removed.
pub(super) async fn delete_article<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
    action: &Action,
    id: ArticleId,
    place: &Place,
    seen: &Seen,
    state: &mut ApplyState<'_>,
) -> StepResult {
    if is_pending(&engine.store, id)? {
        return Err(NotDone::Retry(PENDING.to_owned()));
    }
    engine.store.write(|tx| {
        tx.record(&SeenVersion::of_article(
            id,
            place,
            Side::Remote,
            "deleted here",
            &seen.version,
        ))
    })?;
    let approved = is_approved(&engine.store, action, state)?;
    let change = |engine: &Engine<S, D>, state: &ApplyState<'_>| {
        ensure_no_file(&*engine.disk, id, place, state)?;
        Ok(PutOrDelete::Delete(Deletion {
            id,
            revision: last_revision(state, id, seen),
            version: Some(seen.version.digest()),
            rows: rows_when_deleted(id, Side::Remote, place, approved, state),
        }))
    };
    send_seen(engine, action, id, seen, &change, state).await?;
    state.observed.base.articles.remove(&id);
    Ok(None)
}

/// Makes sure that the file of an article to be deleted did not come back, at its place or elsewhere.
fn ensure_no_file(
    disk: &impl Disk,
    id: ArticleId,
    place: &Place,
    state: &ApplyState<'_>,
) -> Result<(), NotDone> {
    for place in possible_places(state, id, place) {
        match disk.look(At::Folder(&place.folder), &place.file) {
            Ok(None) => {}
            // Another article's file was moved there; the scan saw it.
            Ok(Some(entry)) if is_of_another(state, id, &place, entry.stamp) => {}
            Ok(Some(_)) => {
                return Err(NotDone::Retry("its file is there again".to_owned()));
            }
            // A missing folder holds no file; any other error is a doubt.
            Err(error) if error.kind == DiskErrorKind::NotFound => {}
            Err(error) => return Err(error.into()),
        }
    }
    ensure_no_stray(disk, id, state)
}

/// Makes sure that an article's file is not back under another name. Reads the id of each file that appeared in the
/// mirror since the scan.
fn ensure_no_stray(disk: &impl Disk, id: ArticleId, state: &ApplyState<'_>) -> Result<(), NotDone> {
    let (stamps, copies) = (&state.observed.mirror.stamps, &state.observed.local.copies);
    let known =
        |place: &Place, stamp| stamps.get(place) == Some(&stamp) || copies.contains_key(place);
    let found = scan::find_strays(disk, &state.observed.mirror.layout, &known)?;
    let back = found.ids.iter().find(|(_, found)| *found == id);
    let why = match (back, found.unreadable.first()) {
        (None, None) => return Ok(()),
        (Some((place, _)), _) => format!("its file is there again, as {place}"),
        (None, Some(place)) => format!("{place} cannot be read, and may be its file"),
    };
    Err(NotDone::Retry(why))
}

/// Drops the row of an article that is gone from both sides.
pub(super) fn forget_article<D: Disk>(
    journal: &mut Journal<'_, D>,
    id: ArticleId,
    state: &mut ApplyState<'_>,
) -> StepResult {
    let row = state.row(id);
    let place = row.map(|row| row.place.to_string()).unwrap_or_default();
    let hidden = row.map(visibility_note).unwrap_or_default();
    journal.store.write(|tx| {
        tx.remove_article(id)?;
        tx.remove_conflict(id)?;
        tx.event(&Deed::new("forget", Side::Both, &place, Some(id), hidden))
    })?;
    state.observed.base.articles.remove(&id);
    Ok(None)
}

/// Returns whether a person allowed all deletions or exactly this one: then it does not count against the daily limit.
pub(super) fn is_approved(
    store: &Store,
    action: &Action,
    state: &ApplyState<'_>,
) -> StateResult<bool> {
    let allows_all = state.observed.request.allow_deletes;
    Ok(allows_all || approved(store)?.contains(&action.fingerprint()))
}

/// Returns the rows that become true with the deletion of an article on one side.
pub(super) fn rows_when_deleted(
    id: ArticleId,
    side: Side,
    place: &Place,
    approved: bool,
    state: &ApplyState<'_>,
) -> Vec<RowChange> {
    let hidden = state.row(id).map(visibility_note).unwrap_or_default();
    let event = Deed::new("delete", side, &place.to_string(), Some(id), hidden);
    vec![
        RowChange::NoArticle(id),
        RowChange::NoConflict(id),
        RowChange::Deletion { side, approved },
        RowChange::Event(Box::new(event)),
    ]
}

/// Returns a note for the log whether an article was hidden: if it comes back, it must stay hidden.
fn visibility_note(row: &ArticleRow) -> String {
    noted(row.remote_flags.or(row.file_flags))
}

/// Returns the last revision of the version to be deleted: a colleague may have saved it again unchanged since the
/// listing, and a stale read would show that later revision.
fn last_revision(state: &ApplyState<'_>, id: ArticleId, seen: &Seen) -> Revision {
    let latest = state.latest.get(&id);
    latest.map_or_else(|| seen.revision.clone(), |(_, revision)| revision.clone())
}

/// Returns the places where a file may come back: its own, and that in the present folder of its category.
fn possible_places(state: &ApplyState<'_>, id: ArticleId, place: &Place) -> Vec<Place> {
    let category = state.row(id).map(|row| row.local.category);
    let folder = category.and_then(|category| state.observed.paired.folder(category));
    let now = folder.map(|folder| Place::new(folder, &place.file));
    let mut possible_places = vec![place.clone()];
    possible_places.extend(now.filter(|now| now != place));
    possible_places
}

/// Returns whether the file at an article's place is another article's, and unchanged since the scan.
fn is_of_another(state: &ApplyState<'_>, id: ArticleId, place: &Place, stamp: Stamp) -> bool {
    let paired = &state.observed.paired;
    let others = paired.files.iter().filter(|(other, _)| **other != id);
    let mut files = others.map(|(_, file)| file).chain(&paired.new_files);
    state.observed.mirror.stamps.get(place) == Some(&stamp)
        && files.any(|file| file.place == *place)
}
