//! Files whose articles are gone; their bytes stay in the history.

use super::copies::clear_copies;
use super::delete::{rows_when_deleted, was_approved};
use super::{ApplyState, StepResult, file_changed, not_written};
use crate::engine::form::{MAX_FILE, says};
use crate::engine::journal::Journal;
use crate::engine::journal::history_entry::HistoryEntry;
use crate::mirror::disk::{At, Disk};
use crate::mirror::document::Document;
use crate::model::base::{ArticleRow, ConflictRow};
use crate::model::path::CONFLICT_EXTENSION;
use crate::model::{ArticleId, KnownFile, Place, Side, Timestamp, Version};
use crate::reconcile::pairing::overlaid;
use crate::reconcile::plan::Action;
use crate::state::{RowChange, Seen as SeenVersion, Subject};

/// Removes a file whose article is gone; its bytes stay in the history.
pub(super) fn remove_file<D: Disk>(
    journal: &mut Journal<'_, D>,
    action: &Action,
    id: ArticleId,
    place: &Place,
    version: &Version,
    run: &mut ApplyState<'_>,
) -> anyhow::Result<StepResult> {
    let at = At::Folder(&place.folder);
    let content = match journal.disk.read(at, &place.file, MAX_FILE) {
        Ok(content) => content,
        Err(error) => return Ok(not_written(&error)),
    };
    let unchanged = run.observed.mirror.stamps.get(place) == Some(&content.stamp);
    if !content.whole || !unchanged {
        return Ok(file_changed());
    }
    let document = Document::parse_with_markers(&content.bytes).ok();
    // A stamp within the clock's grain does not vouch for what was scanned.
    let racy = run.observed.mirror.racy.contains(&content.stamp);
    let holds = |document: &Document| says(document, version);
    if racy && !document.as_ref().is_some_and(holds) {
        return Ok(file_changed());
    }
    let now = journal.clock.now();
    let text = document.map_or_else(String::new, |document| document.text().to_owned());
    // Once the file is gone, its place says that the other article was removed.
    let standing = journal.store.conflicts()?;
    let other = overlaid(&run.observed.base, &run.observed.paired, id)
        .filter(|row| standing.iter().all(|conflict| conflict.id != row.id))
        .map(|row| comes_back(row, now));
    let approved = run.request.allow_deletes || was_approved(journal.store, action)?;
    let mut rows = rows_when_deleted(id, Side::Local, place, approved, run);
    rows.extend(other.map(|other| RowChange::Conflict(Box::new(other))));
    let seen = SeenVersion {
        subject: Subject::Article(id),
        place: place.clone(),
        side: Side::Local,
        cause: "deleted on the service".to_owned(),
        version: version.clone(),
        file: None,
    };
    let mut entry = HistoryEntry::of_file(seen, &content.bytes);
    entry.bodies.push(text);
    let removal = journal.removal(place, KnownFile::of(content.stamp, &content.bytes))?;
    if let Err(error) = journal.change_file(removal.with_history(entry).with(rows))? {
        return Ok(not_written(&error));
    }
    clear_copies(journal, id, run)?;
    run.observed.base.articles.remove(&id);
    Ok(StepResult::Done(None))
}

/// Why such a conflict stands.
pub(in crate::engine) const REPLACED_THERE: &str = "another article's file lay at its place";

/// Returns the conflict that makes a file come back that no person took away: a settled one, as is one whose copy is
/// gone.
fn comes_back(row: &ArticleRow, now: Timestamp) -> ConflictRow {
    ConflictRow {
        id: row.id,
        place: row.place.clone(),
        local: row.local.clone(),
        remote: Some(row.remote.clone()),
        revision: row.revision.clone(),
        copy: Some(format!("{}{CONFLICT_EXTENSION}", row.place.stem())),
        reason: REPLACED_THERE.to_owned(),
        at: now,
    }
}
