//! Renders an article as a file, and checks that the present file is still the one in the plan.
//!
//! The new bytes are the present file with the settlement's changes. A file that changed since the plan is left alone.

use super::{ApplyState, NotDone, text};
use crate::engine::form::{MAX_FILE, article_changes, composed, says};
use crate::engine::journal::Journal;
use crate::mirror::disk::{At, Disk};
use crate::mirror::document::{Changes, Document};
use crate::model::{Field, KnownFile, Texts, Version};
use crate::reconcile::plan::Settle;

/// The new bytes of a file.
pub(super) struct Rendered {
    pub(super) bytes: Vec<u8>,
    /// The present bytes.
    pub(super) old: Option<(KnownFile, Vec<u8>)>,
}

/// Returns the new and the present bytes of a file, which must still be the file in the plan.
pub(super) fn rendered<D: Disk>(
    journal: &Journal<'_, D>,
    settle: &Settle,
    state: &ApplyState<'_>,
) -> Result<Rendered, NotDone> {
    let address = (&settle.to, settle.file.slug.as_str());
    let Some(from) = settle.from() else {
        let text = text(journal.store, settle.file.text)?;
        let flags = settle.file_flags;
        let bytes = composed(Some(settle.id), address, &settle.file, flags, text).into_bytes();
        ensure_representable(&bytes)?;
        return Ok(Rendered { bytes, old: None });
    };
    let at = At::Folder(&from.folder);
    let scanned = state.observed.mirror.stamps.get(from).copied();
    let content = journal.disk.read(at, &from.file, MAX_FILE)?;
    if !content.whole {
        return Err(NotDone::Failed("the file is too large".to_owned()));
    }
    // A racy stamp does not vouch for the scanned content.
    let racy = state.observed.mirror.racy.contains(&content.stamp);
    let unchanged = scanned == Some(content.stamp);
    let document = match Document::parse_leniently(&content.bytes) {
        Ok(document) => document,
        Err(problem) if unchanged => return Err(NotDone::Failed(problem.to_string())),
        Err(_) => return Err(NotDone::file_changed()),
    };
    let known = |had: &Version| {
        says(&document, from, had) && (unchanged || knows_flags(&document, settle, state))
    };
    let unchanged = unchanged && !racy;
    if !unchanged && !settle.had().is_some_and(known) {
        return Err(NotDone::file_changed());
    }
    let new_text = settle
        .had()
        .is_none_or(|had| !had.agrees(&settle.file, Field::Text));
    let text = if new_text {
        Some(text(journal.store, settle.file.text)?)
    } else {
        None
    };
    let (id, flags, slug) = (Some(settle.id), settle.file_flags, document.slug());
    let changes = Changes {
        text,
        ..article_changes(id, address, &settle.file, flags, slug)
    };
    let bytes = document.edit(&changes).into_bytes();
    ensure_representable(&bytes)?;
    let old = KnownFile::of(content.stamp, &content.bytes);
    let old = Some((old, content.bytes));
    Ok(Rendered { bytes, old })
}

/// Returns whether `enabled` and `draft` in a file are known values, and not a writer's edit since the scan.
fn knows_flags(document: &Document, settle: &Settle, state: &ApplyState<'_>) -> bool {
    let had = state.row(settle.id).map(|row| row.file_flags);
    // For an article without a row, only the scan knows them.
    let scanned = state.observed.paired.files.get(&settle.id);
    let scanned = scanned.map(|file| file.flags);
    [
        Some(settle.file_flags),
        Some(settle.base_flags_if_unsent),
        had,
        scanned,
    ]
    .contains(&Some(document.flags()))
}

/// Refuses bytes that cannot be read back, for example an article with a blank title or a NUL.
fn ensure_representable(bytes: &[u8]) -> Result<(), NotDone> {
    match Document::parse_leniently(bytes) {
        Ok(_) => Ok(()),
        Err(problem) => Err(NotDone::Failed(format!(
            "the article cannot be kept as a file: {}; change it in the dashboard",
            problem.message
        ))),
    }
}
