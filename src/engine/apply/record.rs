//! Rows: what the base says after a step.
//!
//! Articles follow their folder: the place in the state is a folder's category and a file's name, whatever the folder
//! is called and whether the file can be read now or not.

use super::ApplyState;
use crate::engine::listing::VALIDATOR;
use crate::engine::observation::Observation;
use crate::mirror::scan::trusted;
use crate::model::base::{ArticleRow, CategoryRow};
use crate::model::path::{EXTENSION, slug_of_stem, stem_for};
use crate::model::{
    ArticleId, CategoryVersion, Field, Flags, Place, Revision, Stamp, TextDigest, Timestamp,
    Version,
};
use crate::reconcile::plan::{Action, Settle, SettleCategory};
use crate::reconcile::snapshot::Base;
use crate::state::store::Store;
use crate::state::{Deed, Outcome, RowChange};
use std::collections::BTreeSet;

/// The base row after a step that left the file as it was scanned, or written since; see [`row_after`].
pub(super) fn row_as_scanned(
    state: &ApplyState<'_>,
    settle: &Settle,
    now: Timestamp,
    is_sent: bool,
) -> ArticleRow {
    let mirror = &state.observed.mirror;
    let stamp = scanned_stamp(&settle.to, state.observed, now);
    let text_lf = mirror.text_lf.get(&settle.file.text).copied();
    row_after(state, settle, stamp, text_lf, is_sent)
}

/// The base row after a step; `is_sent`: after its request as well, if the service stores just what is sent.
pub(super) fn row_after(
    state: &ApplyState<'_>,
    settle: &Settle,
    stamp: Option<Stamp>,
    local_text_lf: Option<TextDigest>,
    is_sent: bool,
) -> ArticleRow {
    let (local, flags, remote) = if is_sent {
        (&settle.file, settle.file_flags, sent_over(settle))
    } else {
        let seen = settle.seen.version.clone();
        (&settle.unsent, settle.unsent_flags, seen)
    };
    let old = state.row(settle.id);
    // What was seen may be an old copy itself, and tells nothing of another one.
    let may_be_old = state.observed.service.read_first.contains(&settle.id);
    let kept = |row: &ArticleRow| row.local.text == local.text;
    ArticleRow {
        id: settle.id,
        place: settle.to.clone(),
        local: local.clone(),
        local_text_lf: local_text_lf.or_else(|| {
            old.filter(|row| kept(row))
                .and_then(|row| row.local_text_lf)
        }),
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
        // The stamp vouches for `local`: only where the file holds just that.
        stamp: stamp.filter(|_| *local == settle.file && flags == settle.file_flags),
        replaced: old.and_then(|row| row.replaced.clone()),
        earlier: match old {
            Some(old) if may_be_old || is_sent => old.earlier.clone(),
            Some(old) => old.earlier_once_pulled(&settle.seen.revision),
            None => Vec::new(),
        },
        written: old.and_then(|row| row.written.clone()),
    }
}

/// Returns the version of an article once the sent fields have replaced those that were seen.
fn sent_over(settle: &Settle) -> Version {
    let mut after = settle.seen.version.clone();
    let sent = settle.send.iter();
    sent.for_each(|field| after.take(*field, &settle.file));
    after
}

/// The stamp of the file at a place as it was scanned (or written since), if it may be trusted from now on.
pub(super) fn scanned_stamp(
    place: &Place,
    observed: &Observation,
    now: Timestamp,
) -> Option<Stamp> {
    let stamp = observed.mirror.stamps.get(place).copied();
    stamp.and_then(|stamp| trusted_scan(stamp, observed, now))
}

/// A stamp of this cycle's scan, if it may be trusted from now on. A file's stamp that was racy when it was read stays
/// so, however much time has passed.
pub(super) fn trusted_scan(stamp: Stamp, observed: &Observation, now: Timestamp) -> Option<Stamp> {
    trusted(stamp, now).filter(|stamp| !observed.mirror.racy.contains(stamp))
}

/// The words of a category on the service after a request, and the time at which they count as read.
pub(super) struct SentCategory {
    pub(super) version: CategoryVersion,
    pub(super) revision: Revision,
    pub(super) read_at: Timestamp,
}

/// A category's row after a step.
pub(super) fn category_row(
    settle: &SettleCategory,
    sent: Option<SentCategory>,
    state: &ApplyState<'_>,
    now: Timestamp,
) -> CategoryRow {
    let local = if sent.is_some() {
        &settle.file
    } else {
        &settle.unsent
    };
    let found = state.observed.remote.categories.get(&settle.id);
    let (remote, revision, read_at) = if let Some(sent) = sent {
        (sent.version, sent.revision, Some(sent.read_at))
    } else {
        // Words of the service that wait for a person are not settled: the category is read again.
        let is_open = found.is_some_and(|(found, _)| *found != settle.seen);
        let read_at = if is_open { Timestamp::default() } else { now };
        let read_at = found.map(|_| read_at);
        (settle.seen.clone(), settle.revision.clone(), read_at)
    };
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

/// Returns the line of the log for an action that is done.
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

/// Brings rows up to date of which nothing is to be seen.
pub(super) fn record_quietly(
    store: &mut Store,
    records: &[Settle],
    categories: &[SettleCategory],
    state: &ApplyState<'_>,
) -> Outcome<()> {
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
        .flat_map(|row| rows_along(&state.observed.base, state.observed, row))
        .collect();
    store.write(|tx| {
        categories.iter().try_for_each(|row| tx.put_category(row))?;
        moved.iter().try_for_each(|row| tx.put_article(row))?;
        rows.iter().try_for_each(|row| tx.put_article(row))
    })?;
    Ok(())
}

/// A tag from before our own writes must not vouch for what comes after them, even if this run does not live
/// to see its end: a content may come back, and its tag with it.
pub(super) fn forget_validator(store: &mut Store) -> Outcome<()> {
    if store.meta(VALIDATOR)?.is_some() {
        store.write(|tx| tx.remove_meta(VALIDATOR))?;
    }
    Ok(())
}

/// A category's row when its folder got a new name from us, and no more was done. If the new name gives the slug, both
/// halves of the base get it: any other slug on the service is then a newer edit.
pub(in crate::engine) fn row_renamed(
    row: &CategoryRow,
    folder: &str,
    slug: Option<&str>,
) -> CategoryRow {
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

/// The rows of the articles in a category's folder under the name that it has now, also of those whose own category has
/// another folder: pairing looks for their files there. A file that was left behind, and lies where it was and not in
/// the folder, keeps its place.
pub(in crate::engine) fn rows_along(
    base: &Base,
    observed: &Observation,
    category: &CategoryRow,
) -> Vec<ArticleRow> {
    let old = base.categories.get(&category.id);
    let from = old.and_then(|row| row.folder.as_ref());
    let (Some(from), Some(to)) = (from, &category.folder) else {
        return Vec::new();
    };
    if from == to {
        return Vec::new();
    }
    let files = observed.local.files.iter().map(|file| &file.place);
    let unknown = observed.local.unknown.iter().map(|unknown| &unknown.place);
    let lying: BTreeSet<&Place> = files
        .chain(unknown)
        .filter(|place| place.folder == *from || place.folder == *to)
        .collect();
    let rows = base.articles.values();
    rows.filter(|row| row.place.folder == *from)
        .map(|row| (row, Place::new(to, row.place.file.clone())))
        .filter(|(row, place)| lying.contains(place) || !lying.contains(&row.place))
        .map(|(row, place)| ArticleRow {
            place,
            ..row.clone()
        })
        .collect()
}

/// Returns where the file of an article without a row might be, for people who look for it by a path.
pub(super) fn unmet_place(id: ArticleId, version: &Version, base: &Base) -> Place {
    let row = base.categories.get(&version.category);
    let folder = row.map(|row| {
        row.folder
            .clone()
            .unwrap_or_else(|| row.remote.slug.clone())
    });
    let folder = folder.unwrap_or_else(|| version.category.to_string());
    let stem = stem_for(&version.slug, id.uuid(), &|_| false);
    Place::new(folder, format!("{stem}{EXTENSION}"))
}
