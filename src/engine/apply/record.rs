//! The rows of the base after a step.
//!
//! Articles follow their folder: a stored place is the folder of a category and a file name, whatever the folder's
//! name, and whether or not the file can be read.

use super::ApplyState;
use crate::engine::listing::VALIDATOR;
use crate::engine::observation::Observation;
use crate::mirror::scan::trusted;
use crate::model::base::{ArticleRow, CategoryRow};
use crate::model::path::slug_of_stem;
use crate::model::{
    ArticleId, CategoryVersion, Field, Flags, Place, Revision, Stamp, Texts, Timestamp,
};
use crate::reconcile::plan::{Action, Settle, SettleCategory};
use crate::reconcile::snapshot::Base;
use crate::state::store::Store;
use crate::state::{Deed, RowChange, StateResult};
use std::collections::BTreeSet;

/// Returns the base row after a step that left the file as it was scanned, or written since; see [`row_after`].
pub(super) fn row_as_scanned(
    state: &ApplyState<'_>,
    settle: &Settle,
    now: Timestamp,
    is_sent: bool,
) -> ArticleRow {
    let stamp = scanned_stamp(&settle.to, state.observed, now);
    row_after(state, settle, stamp, is_sent)
}

/// Returns the base row after a step; `is_sent`: after its request as well, if the service stores exactly what is sent.
pub(super) fn row_after(
    state: &ApplyState<'_>,
    settle: &Settle,
    stamp: Option<Stamp>,
    is_sent: bool,
) -> ArticleRow {
    let (local, flags, remote) = if is_sent {
        // No request changes `draft`, and `enabled` may wait for the `draft` line.
        let sent_flags = match settle.send_enabled {
            Some(_) => Flags {
                draft: settle.base_flags_if_unsent.draft,
                ..settle.file_flags
            },
            None => settle.base_flags_if_unsent,
        };
        (&settle.file, sent_flags, settle.sent_over())
    } else {
        let seen = settle.seen.version.clone();
        (&settle.base_if_unsent, settle.base_flags_if_unsent, seen)
    };
    let old = state.row(settle.id);
    let mut row = ArticleRow {
        id: settle.id,
        place: settle.to.clone(),
        local: local.clone(),
        remote,
        revision: settle.seen.revision.clone(),
        file_flags: flags,
        remote_flags: Flags {
            enabled: settle
                .send_enabled
                .filter(|_| is_sent)
                .or(settle.seen.flags.enabled),
            ..settle.seen.flags
        },
        visibility: settle.seen.visibility,
        // The stamp vouches for `local` only if the file holds exactly that.
        stamp: stamp.filter(|_| *local == settle.file && flags == settle.file_flags),
        superseded: old.map_or_else(Vec::new, |row| row.superseded.clone()),
        written: old.and_then(|row| row.written.clone()),
    };
    // A version that the file has already is newer than the base. Any other version may be a stale read, so that it
    // supersedes only our own last write, and nothing if it has to be read again.
    let is_adopted = settle.had() == Some(&settle.seen.version);
    let may_be_old = state.observed.service.read_first.contains(&settle.id);
    let is_newer = |old: &&ArticleRow| {
        let is_own = old.written.as_ref() == Some(&old.revision);
        old.revision != row.revision && (is_adopted || (is_own && !may_be_old))
    };
    if let Some(old) = old.filter(is_newer) {
        let over = (old.remote.digest(), old.revision.clone());
        row.supersede(over, &settle.seen.revision);
    }
    row
}

/// Returns the stamp of a file as scanned, or written since, if it may be trusted from now on.
pub(super) fn scanned_stamp(
    place: &Place,
    observed: &Observation,
    now: Timestamp,
) -> Option<Stamp> {
    let stamp = observed.mirror.stamps.get(place).copied();
    stamp.and_then(|stamp| trusted_scan(stamp, observed, now))
}

/// Returns a scanned stamp, if it may be trusted from now on. A stamp that was racy at the read stays racy, however
/// much time has passed.
pub(super) fn trusted_scan(stamp: Stamp, observed: &Observation, now: Timestamp) -> Option<Stamp> {
    trusted(stamp, now).filter(|stamp| !observed.mirror.racy.contains(stamp))
}

/// Returns a category's row after a step. `answer`: the response to its request.
pub(super) fn category_row(
    settle: &SettleCategory,
    answer: Option<&(CategoryVersion, Revision)>,
    state: &ApplyState<'_>,
    now: Timestamp,
) -> CategoryRow {
    let local = if answer.is_some() {
        &settle.file
    } else {
        &settle.base_if_unsent
    };
    let found = state.observed.remote.categories.get(&settle.id);
    let (mut remote, mut revision) = (settle.seen.clone(), settle.revision.clone());
    if let Some((answered, answered_revision)) = answer {
        remote.take_all(&settle.send, answered);
        if remote == *answered {
            revision.clone_from(answered_revision);
        }
    }
    // If the service's words wait for a person, or the response has a colleague's change, the category is read again.
    let read_at = answer.or(found).map(|(told, _)| {
        if *told == remote {
            now
        } else {
            Timestamp::default()
        }
    });
    let stamp = settle
        .to
        .as_ref()
        .filter(|_| *local == settle.file)
        .and_then(|folder| state.observed.mirror.category_stamps.get(folder).copied())
        .and_then(|stamp| trusted_scan(stamp, state.observed, now));
    let old = state.observed.base.categories.get(&settle.id);
    CategoryRow {
        id: settle.id,
        folder: settle.to.clone(),
        local: local.clone(),
        remote,
        revision,
        read_at: read_at
            .or_else(|| old.map(|row| row.read_at))
            .unwrap_or_default(),
        stamp,
    }
}

/// Returns the log line of a done action.
pub(super) fn event_of(action: &Action, id: ArticleId) -> RowChange {
    let fields = Field::keys(&action.fields, ", ");
    RowChange::Event(Box::new(Deed::new(
        action.kind.word(),
        action.side,
        &action.path,
        Some(id),
        fields,
    )))
}

/// Updates rows without any visible change.
pub(super) fn record_quietly(
    store: &mut Store,
    records: &[Settle],
    categories: &[SettleCategory],
    state: &ApplyState<'_>,
) -> StateResult<()> {
    if records.is_empty() && categories.is_empty() {
        return Ok(());
    }
    let now = store.now();
    let rows: Vec<ArticleRow> = records
        .iter()
        .filter(|settle| !state.obstacles.blocks(&settle.to.folder))
        .map(|settle| row_as_scanned(state, settle, now, false))
        .collect();
    let categories: Vec<CategoryRow> = categories
        .iter()
        .map(|settle| category_row(settle, None, state, now))
        .collect();
    let moved = categories.iter();
    let moved: Vec<ArticleRow> = moved
        .flat_map(|row| rows_along(state.observed, row))
        .collect();
    store.write(|tx| {
        categories.iter().try_for_each(|row| tx.put_category(row))?;
        moved.iter().try_for_each(|row| tx.put_article(row))?;
        rows.iter().try_for_each(|row| tx.put_article(row))
    })?;
    Ok(())
}

/// Removes the validator of the last listing. A validator from before our own writes must not cover the time after
/// them, even if this run dies: content may come back, and its validator with it.
pub(super) fn forget_validator(store: &mut Store) -> StateResult<()> {
    if store.meta(VALIDATOR)?.is_some() {
        store.write(|tx| tx.remove_meta(VALIDATOR))?;
    }
    Ok(())
}

/// Returns a category's row after kbsync renamed its folder, before anything else. If the new name gives the slug, both
/// sides of the base get it: any other slug on the service is then a newer edit.
pub(super) fn row_renamed(row: &CategoryRow, folder: &str, slug: Option<&str>) -> CategoryRow {
    let mut row = CategoryRow {
        folder: Some(folder.to_owned()),
        stamp: None,
        ..row.clone()
    };
    if let Some(slug) = slug.filter(|slug| slug_of_stem(folder).is_ok_and(|stem| stem == *slug)) {
        slug.clone_into(&mut row.local.slug);
        slug.clone_into(&mut row.remote.slug);
    }
    row
}

/// Returns the rows of the articles in a renamed folder, at their new places, because pairing looks for their files
/// there; also of articles whose own category has another folder.
pub(super) fn rows_moved(base: &Base, from: &str, to: &str) -> impl Iterator<Item = ArticleRow> {
    let rows = base.articles.values();
    let rows = rows.filter(move |row| row.place.folder == from);
    rows.map(move |row| ArticleRow {
        place: Place::new(to, row.place.file.clone()),
        ..row.clone()
    })
}

/// Returns the rows of the articles in a folder that a person renamed. A file that stayed behind keeps its place.
pub(super) fn rows_along(observed: &Observation, category: &CategoryRow) -> Vec<ArticleRow> {
    let old = observed.base.categories.get(&category.id);
    let from = old.and_then(|row| row.folder.as_ref());
    let (Some(from), Some(to)) = (from, &category.folder) else {
        return Vec::new();
    };
    if from == to {
        return Vec::new();
    }
    let files = observed.local.files.iter().map(|file| &file.place);
    let unknown = observed.local.unknown.iter().map(|unknown| &unknown.place);
    let present: BTreeSet<&Place> = files
        .chain(unknown)
        .filter(|place| place.folder == *from || place.folder == *to)
        .collect();
    let is_left = |place: &Place| present.contains(&Place::new(from, place.file.clone()));
    rows_moved(&observed.base, from, to)
        .filter(|row| present.contains(&row.place) || !is_left(&row.place))
        .collect()
}
