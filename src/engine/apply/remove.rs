//! Files whose articles are gone; their bytes stay in the history.

use super::copies::clear_copies;
use super::delete::{rows_when_deleted, was_approved};
use super::{ApplyState, StepResult, file_changed, not_written};
use crate::engine::form::{MAX_FILE, says};
use crate::engine::history::entry::HistoryEntry;
use crate::engine::journal::Journal;
use crate::mirror::disk::{At, Disk};
use crate::mirror::document::Document;
use crate::model::{ArticleId, KnownFile, Place, Side, Version};
use crate::reconcile::plan::Action;
use crate::state::SeenVersion;

/// Removes a file whose article is gone; its bytes stay in the history.
pub(super) fn remove_file<D: Disk>(
    journal: &mut Journal<'_, D>,
    action: &Action,
    id: ArticleId,
    place: &Place,
    version: &Version,
    state: &mut ApplyState<'_>,
) -> anyhow::Result<StepResult> {
    let at = At::Folder(&place.folder);
    let content = match journal.disk.read(at, &place.file, MAX_FILE) {
        Ok(content) => content,
        Err(error) => return Ok(not_written(&error)),
    };
    let unchanged = state.observed.mirror.stamps.get(place) == Some(&content.stamp);
    if !content.whole || !unchanged {
        return Ok(file_changed());
    }
    let document = Document::parse_with_markers(&content.bytes).ok();
    // A stamp within the clock's grain does not vouch for what was scanned.
    let racy = state.observed.mirror.racy.contains(&content.stamp);
    let holds = |document: &Document| says(document, version);
    if racy && !document.as_ref().is_some_and(holds) {
        return Ok(file_changed());
    }
    let text = document.map_or_else(String::new, |document| document.text().to_owned());
    let approved = state.observed.request.allow_deletes || was_approved(journal.store, action)?;
    let rows = rows_when_deleted(id, Side::Local, place, approved, state);
    // A file that came from elsewhere may have the id of another service's article.
    let cause = if state.row(id).is_some() {
        "deleted on the service"
    } else {
        "no article had its id"
    };
    let seen = SeenVersion::of_article(id, place, Side::Local, cause, version);
    let mut entry = HistoryEntry::of_file(seen, &content.bytes);
    entry.bodies.push(text);
    let removal = journal.removal(place, KnownFile::of(content.stamp, &content.bytes))?;
    if let Err(error) = journal.change_file(removal.with_history(entry).with(rows))? {
        return Ok(not_written(&error));
    }
    clear_copies(journal, id, state)?;
    state.observed.base.articles.remove(&id);
    Ok(StepResult::Done(None))
}
