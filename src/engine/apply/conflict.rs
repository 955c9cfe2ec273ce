//! Conflicts: the service's version is shown in a copy beside the file, until a person settles it.
//!
//! A copy is replaced or removed only while it is byte for byte what kbsync wrote. An edited copy stays, because it
//! belongs to the person who edited it, and a newer version of the service gets another name. The choice of conflicts
//! is made elsewhere. See `docs/decisions/07-conflict-copies.md`.

use super::{ApplyState, text};
use crate::engine::form::MAX_FILE;
use crate::engine::history;
use crate::engine::journal::Journal;
use crate::engine::observation::Observation;
use crate::engine::report::{Line, Report};
use crate::mirror::disk::{At, Content, Disk, DiskError, Durability, beside_name};
use crate::mirror::document::{Changes, Document};
use crate::model::base::ConflictRow;
use crate::model::path::quoted;
use crate::model::{ArticleId, Flags, KnownFile, Place, Revision, Side, TextDigest, Version};
use crate::reconcile::plan::{Conflict, Kind};
use crate::state::store::Store;
use crate::state::{Deed, Subject};

/// Writes the copy beside the file, then records the two versions. Returns a reason that replaces the plan's, if the
/// copy could not be written or has another name than planned.
///
/// The copy comes first: a recorded conflict without a copy would count as settled.
pub(super) fn show_conflict<D: Disk>(
    journal: &mut Journal<'_, D>,
    conflict: &Conflict,
    state: &mut ApplyState<'_>,
) -> anyhow::Result<Option<String>> {
    if !conflict.needs_copy {
        return Ok(None);
    }
    let mut written = conflict.copy.clone();
    if let (Some(seen), Some(copy)) = (&conflict.seen, &conflict.copy) {
        let shown = state.observed.base.conflicts.get(&conflict.id);
        let is_shown = shown.is_some_and(|row| row.remote.as_ref() == Some(&seen.version));
        if is_shown && is_edited(journal, conflict, copy)? {
            // A person is working in the copy of this very version.
            return Ok(None);
        }
        let body = text(journal.store, seen.version.text)?;
        let source = copy_text(conflict.id, &seen.version, seen.flags, body);
        match write_copy(journal, conflict, copy, &source) {
            Ok(name) => written = Some(name),
            Err(error) => return Ok(Some(no_copy(&error.downcast()?, state))),
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

/// Returns the reason of a conflict whose copy has another name than planned.
fn named_otherwise(conflict: &Conflict, taken: &str, name: &str) -> String {
    let path = conflict.place.to_string();
    format!(
        "{}; the service's version is in {name}, because {taken} does not hold what kbsync wrote, and is left alone; \
         `kbsync resolve {}` settles the conflict",
        conflict.reason,
        quoted(&path)
    )
}

/// Returns the reason for a missing copy, and notes the obstacle for the rest of the cycle.
fn no_copy(error: &DiskError, state: &mut ApplyState<'_>) -> String {
    state.obstacles.note(&error.into());
    format!("the copy could not be written: {}", error.in_words())
}

/// Writes a conflict's copy beside the article's file, and returns the name of the copy: the wished name, or the first
/// of `NAME.1.conflict.html`, `NAME.2.conflict.html`, … that is free. Another file at the name of a copy stays as it
/// is, unless the file is an earlier copy that nobody edited.
pub(super) fn write_copy<D: Disk>(
    journal: &mut Journal<'_, D>,
    conflict: &Conflict,
    copy: &str,
    source: &str,
) -> anyhow::Result<String> {
    let at = At::Folder(&conflict.place.folder);
    let mut name = copy.to_owned();
    let mut number = 0;
    let over = loop {
        let Some(present) = copy_at(journal.disk, at, &name)? else {
            break None;
        };
        // A killed run may have written the copy, and not made it durable: a copy lost with the power would look
        // removed by a person.
        if present.bytes == source.as_bytes() {
            journal.disk.sync_folder(at)?;
            return Ok(name);
        }
        if is_as_written(journal.store, &present, conflict.id)? {
            break Some(KnownFile::of(present.stamp, &present.bytes));
        }
        // Numbered names begin with the article's name, so that they do not grow with each conflict.
        number += 1;
        name = beside_name(&conflict.place.file, number);
    };
    let place = Place::new(&conflict.place.folder, &name);
    let bytes = source.as_bytes();
    let like = Some(&conflict.place);
    let staged = journal.stage(&place, bytes, over, like, Durability::Now)??;
    journal.change_file(staged)??;
    Ok(name)
}

/// Returns whether a person edited the copy. A copy that cannot be read counts as unedited: its write reports why.
fn is_edited<D: Disk>(
    journal: &Journal<'_, D>,
    conflict: &Conflict,
    copy: &str,
) -> anyhow::Result<bool> {
    let at = At::Folder(&conflict.place.folder);
    let Ok(Some(present)) = copy_at(journal.disk, at, copy) else {
        return Ok(false);
    };
    Ok(!is_as_written(journal.store, &present, conflict.id)?)
}

fn copy_at(disk: &impl Disk, at: At<'_>, copy: &str) -> Result<Option<Content>, DiskError> {
    match disk.look(at, copy)? {
        None => Ok(None),
        Some(_) => disk.read(at, copy, MAX_FILE).map(Some),
    }
}

/// Returns whether a copy is byte for byte what kbsync wrote for an article: a version of the service that the history
/// knows, or that a conflict shows.
fn is_as_written(store: &Store, copy: &Content, id: ArticleId) -> anyhow::Result<bool> {
    let conflicts = store.conflicts()?;
    let shown = conflicts.iter().find(|row| row.id == id);
    let shown = shown.and_then(|row| row.remote.as_ref());
    if shown.is_some_and(|shown| shows(copy, id, shown)) {
        return Ok(true);
    }
    let now = history::ended::goes_on_as(store, id)?.unwrap_or(id);
    let versions = store.versions(&Subject::Article(now))?;
    let mut there = versions.iter().filter(|kept| kept.seen.side != Side::Local);
    Ok(there.any(|kept| shows(copy, id, &kept.seen.version)))
}

/// Removes the copies of settled conflicts that the scan found, and those of conflicts that have another copy now. While
/// an article's file cannot be read, its copies stay: a new state does not know the conflict. Reports the edited copies
/// of the conflicts that ended in this cycle, which stay.
pub(in crate::engine) fn remove_settled_copies<D: Disk>(
    journal: &mut Journal<'_, D>,
    observed: &Observation,
    report: &mut Report,
) -> anyhow::Result<()> {
    if observed.local.copies.is_empty() {
        return Ok(());
    }
    let conflicts = journal.store.conflicts()?;
    for (copy, names) in &observed.local.copies {
        // A copy without its `id:` line is recognised by its name.
        let is_named = |row: &&ConflictRow| {
            row.place.folder == copy.folder && row.copy.as_ref() == Some(&copy.file)
        };
        let named = || Some(observed.base.conflicts.values().find(is_named)?.id);
        let id = names.or_else(named);
        let id = id.filter(|id| !observed.paired.unknown.contains_key(id));
        let Some(id) = id else { continue };
        let standing = conflicts.iter().find(|row| row.id == id);
        // A push only plans the conflict: its row, if there is one, may be in a state that was moved away.
        let is_planned = |line: &Line| line.id == Some(id) && line.action == Kind::Conflict;
        if standing.is_none() && report.actions.iter().any(is_planned) {
            continue;
        }
        // A new state does not know the conflict of an article outside the cycle's scope.
        let base = &observed.base;
        let is_known = base.articles.contains_key(&id) || base.conflicts.contains_key(&id);
        let mut lines = report.actions.iter();
        if standing.is_none() && !is_known && !lines.any(|line| line.id == Some(id)) {
            continue;
        }
        let shown = standing.and_then(ConflictRow::copy_place);
        // If the shown copy is missing, any other copy keeps the conflict.
        let stays = shown.is_some_and(|shown| {
            let found = journal.disk.look(At::Folder(&shown.folder), &shown.file);
            shown == *copy || !matches!(found, Ok(Some(_)))
        });
        if stays {
            continue;
        }
        let is_edited = remove_copy(journal, id, copy)?;
        let has_ended = standing.is_none() && observed.base.conflicts.contains_key(&id);
        if !is_edited || !has_ended {
            continue;
        }
        let mut lines = report.actions.iter_mut();
        if let Some(line) = lines.find(|line| line.id == Some(id)) {
            line.say(format!(
                "{} was edited, so it stays; delete it when you no longer need it",
                copy.file
            ));
        }
    }
    Ok(())
}

/// Removes a copy, unless somebody edited it. Returns whether somebody did. A copy that cannot be read or removed counts as
/// unedited, and the log says that it stays.
fn remove_copy<D: Disk>(
    journal: &mut Journal<'_, D>,
    id: ArticleId,
    copy: &Place,
) -> anyhow::Result<bool> {
    let found = match copy_at(journal.disk, At::Folder(&copy.folder), &copy.file) {
        Ok(Some(found)) => found,
        Ok(None) => return Ok(false),
        Err(error) => {
            tracing::warn!(path = %copy, %error, "the conflict copy stays");
            return Ok(false);
        }
    };
    if !is_as_written(journal.store, &found, id)? {
        return Ok(true);
    }
    let removal = journal.removal(copy, KnownFile::of(found.stamp, &found.bytes))?;
    if let Err(error) = journal.change_file(removal)? {
        tracing::warn!(path = %copy, %error, "the conflict copy stays");
    }
    Ok(false)
}

/// Returns the content of a conflict's copy. The copy of a hidden article has its flags, because a person may make it
/// the file.
fn copy_text(id: ArticleId, version: &Version, flags: Flags, text: String) -> String {
    Document::compose(&Changes {
        id: Some(id.uuid()),
        slug: Some(Some(version.slug.clone())),
        enabled: Some(flags.enabled.filter(|is_enabled| !is_enabled)),
        draft: Some(flags.draft.filter(|is_draft| *is_draft)),
        text: Some(text),
        ..Changes::words(version)
    })
}

/// Returns whether a copy is byte for byte the copy of a version.
fn shows(copy: &Content, id: ArticleId, version: &Version) -> bool {
    copy.whole
        && Document::parse_leniently(&copy.bytes).is_ok_and(|document| {
            TextDigest::of(document.text()) == version.text
                && copy_text(id, version, document.flags(), document.text().to_owned()).as_bytes()
                    == copy.bytes
        })
}
