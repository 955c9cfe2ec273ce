//! Conflicts: the service's version beside the file, until a person settles it
//! (`docs/decisions/07-conflict-copies.md`). The copies
//! themselves are written and removed in `copies`.

use super::copies::{copy_text, write_copy};
use super::{ApplyState, StepResult, not_written, text};
use crate::engine::journal::Journal;
use crate::mirror::disk::{Disk, DiskError};
use crate::model::base::ConflictRow;
use crate::model::path::quoted;
use crate::model::{Revision, Side};
use crate::reconcile::plan::Conflict;
use crate::state::{Deed, SeenVersion};

/// Writes the copy beside the file, then records which two versions were shown. Returns the reason to report instead
/// of the plan's, if the copy could not be written or has another name than planned.
///
/// The copy comes first: a remembered conflict without its copy would count as settled.
pub(super) fn show_conflict<D: Disk>(
    journal: &mut Journal<'_, D>,
    conflict: &Conflict,
    state: &mut ApplyState<'_>,
) -> anyhow::Result<Option<String>> {
    if !conflict.fresh {
        return Ok(None);
    }
    let mut written = conflict.copy.clone();
    if let (Some(seen), Some(copy)) = (&conflict.seen, &conflict.copy) {
        let body = text(journal.store, seen.version.text)?;
        // Of an article that the base does not know, nothing else remembers what is shown.
        let shown = SeenVersion::of_article(
            conflict.id,
            &conflict.place,
            Side::Remote,
            "in conflict",
            &seen.version,
        );
        journal.store.write(|tx| tx.record(&shown))?;
        let source = copy_text(conflict.id, &seen.version, body);
        match write_copy(journal, conflict, copy, &source)? {
            Ok(name) => written = Some(name),
            Err(error) => return Ok(Some(no_copy(&error, state))),
        }
    }
    let now = journal.store.now();
    let row = ConflictRow {
        id: conflict.id,
        place: conflict.place.clone(),
        local: conflict.local.clone(),
        remote: conflict.seen.as_ref().map(|seen| seen.version.clone()),
        revision: conflict
            .seen
            .as_ref()
            .map_or_else(Revision::default, |seen| seen.revision.clone()),
        copy: written.clone(),
        reason: conflict.reason.clone(),
        at: now,
    };
    let detail = conflict.reason.clone();
    journal.store.write(|tx| {
        tx.put_conflict(&row)?;
        tx.event(&Deed::new(
            "conflict",
            Side::Both,
            &conflict.place.to_string(),
            Some(conflict.id),
            detail,
        ))
    })?;
    Ok(match (&conflict.copy, written) {
        (Some(taken), Some(name)) if *taken != name => {
            Some(named_otherwise(conflict, taken, &name))
        }
        (Some(_) | None, Some(_) | None) => None,
    })
}

/// The reason of a conflict whose copy has another name than planned.
fn named_otherwise(conflict: &Conflict, taken: &str, name: &str) -> String {
    let path = conflict.place.to_string();
    format!(
        "{}; the service's version is in {name}, because {taken} does not hold what kbsync wrote, and is left alone; \
         `kbsync resolve {}` settles the conflict",
        conflict.reason,
        quoted(&path)
    )
}

/// Why there is no copy, and what that means for the rest of the cycle.
fn no_copy(error: &DiskError, state: &mut ApplyState<'_>) -> String {
    let reason = format!("the copy could not be written: {}", error.in_words());
    match not_written(error) {
        StepResult::MirrorUnwritable(stop) => state.obstacles.stop_mirror(stop),
        StepResult::Unsafe(reason) => {
            state.obstacles.doubt.get_or_insert(reason);
        }
        StepResult::Done(_)
        | StepResult::Retry(_)
        | StepResult::Overtaken(_)
        | StepResult::Failed(_)
        | StepResult::Stopped(_)
        | StepResult::Held(_) => {}
    }
    reason
}
