//! A category in the mirror: makes or renames its folder, and edits its `_category.yaml`, if the file is still as
//! scanned. Both versions of the file go into the history.

use super::record::{category_row, row_renamed, rows_along, rows_moved};
use super::{ApplyState, NotDone};
use crate::engine::form::{MAX_YAML, category_file, category_version, words_of};
use crate::engine::history::category::{last_document, seen_as};
use crate::engine::journal::Journal;
use crate::engine::settings::InMotion;
use crate::mirror::disk::{At, Content, Disk, DiskError, DiskErrorKind, Durability};
use crate::mirror::document::CategoryDocument;
use crate::model::base::{ArticleRow, CategoryRow};
use crate::model::path::CATEGORY_FILE;
use crate::model::{CategoryId, CategoryVersion, KnownFile, Place, Side};
use crate::reconcile::plan::SettleCategory;
use crate::reconcile::snapshot::LocalCategory;
use crate::state::store::HistoryEntry;
use crate::state::{Deed, RowChange};

/// Settles the mirror's half: the folder, `_category.yaml`, and the rows that become true with them.
pub(super) fn settle_here<D: Disk>(
    journal: &mut Journal<'_, D>,
    settle: &SettleCategory,
    state: &mut ApplyState<'_>,
) -> Result<(), NotDone> {
    if is_in_motion(settle, state) {
        return Err(NotDone::Retry("a file in it is being written".to_owned()));
    }
    let home = settle.from.as_ref().or(settle.to.as_ref());
    let scanned = home.and_then(|folder| scanned_yaml(folder, state));
    let scanned = scanned.as_ref();
    let before = state.observed.base.categories.get(&settle.id);
    let before = before.map(|row| row.local.clone());
    if let Some(to) = &settle.to {
        change_folder(journal, settle, to, scanned, state)?;
    }
    let now = journal.store.now();
    let mut row = category_row(settle, None, state, now);
    let along = rows_along(state.observed, &row);
    match &settle.to {
        Some(to) if settle.write => {
            row.stamp = None;
            let yaml = NewYaml {
                folder: to,
                id: settle.id,
                version: &settle.file,
                scanned,
                before: before.as_ref(),
                named: settle.from.as_ref().unwrap_or(to),
                seen: seen(settle, before.is_some(), scanned.is_some()),
            };
            write_yaml(journal, &yaml, rows_of(settle, &row, &along), state)?;
        }
        Some(_) | None => {
            let rows = rows_of(settle, &row, &along);
            journal
                .store
                .write(|tx| rows.iter().try_for_each(|row| tx.apply(row)))?;
        }
    }
    let articles = along.into_iter().map(|row| (row.id, row));
    state.observed.base.articles.extend(articles);
    state.observed.base.categories.insert(settle.id, row);
    Ok(())
}

/// Returns whether a folder is to be renamed while a file in it is being written.
fn is_in_motion(settle: &SettleCategory, state: &ApplyState<'_>) -> bool {
    let (Some(from), Some(to)) = (&settle.from, &settle.to) else {
        return false;
    };
    let in_motion = InMotion::new(&state.observed.request.in_motion);
    from != to && (in_motion.is_about(from) || in_motion.is_about(to))
}

/// Returns the side that has the written words, and the cause, for the history. The service has them only after the
/// PUT.
fn seen(settle: &SettleCategory, is_known: bool, is_there: bool) -> (Side, &'static str) {
    match (settle.send.is_empty(), is_known, is_there) {
        (false, _, _) => (Side::Local, "merge"),
        (true, true, _) => (Side::Both, "update"),
        (true, false, true) => (Side::Both, "adopt"),
        (true, false, false) => (Side::Both, "create"),
    }
}

fn change_folder<D: Disk>(
    journal: &mut Journal<'_, D>,
    settle: &SettleCategory,
    to: &str,
    scanned: Option<&LocalCategory>,
    state: &mut ApplyState<'_>,
) -> Result<(), NotDone> {
    if let Some(from) = &settle.from {
        if settle.write {
            // Check before anything moves: a file that was edited since is left to the next cycle.
            read_yaml(journal.disk, from, scanned)?;
        }
        if from != to {
            move_folder(journal, settle, from, to, scanned, state)?;
        }
        return Ok(());
    }
    if journal.disk.look(At::Root, to)?.is_none() {
        journal.disk.create_folder(to)?;
        journal.disk.sync_folder(At::Root)?;
        return Ok(());
    }
    let mut paired = state.observed.paired.categories.iter();
    if paired.any(|(id, category)| *id != settle.id && category.folder == *to) {
        // Another category was to leave the folder, and has not.
        return Err(DiskError::new(DiskErrorKind::Exists, "make", to).into());
    }
    Ok(())
}

/// Renames a folder, with the rows of its category and articles, whatever happens to the category's words later.
fn move_folder<D: Disk>(
    journal: &mut Journal<'_, D>,
    settle: &SettleCategory,
    from: &str,
    to: &str,
    scanned: Option<&LocalCategory>,
    state: &mut ApplyState<'_>,
) -> Result<(), NotDone> {
    // Without a `slug:` line in the file, the folder's name is the slug.
    let lined = has_slug(journal.disk, from).unwrap_or(scanned.is_some());
    let pulled = Some(settle.seen.slug.as_str()).filter(|_| !lined);
    let old = state.observed.base.categories.get(&settle.id);
    let category = old.map(|old| row_renamed(old, to, pulled));
    let articles: Vec<ArticleRow> = rows_moved(&state.observed.base, from, to).collect();
    let changed = category.iter().cloned().map(Box::new);
    let mut rows: Vec<RowChange> = changed.map(RowChange::Category).collect();
    let along = articles.iter().cloned().map(Box::new);
    rows.extend(along.map(RowChange::Article));
    journal.rename_folder(from, to, &rows)??;
    let base = &mut state.observed.base;
    base.categories.extend(category.map(|row| (row.id, row)));
    base.articles
        .extend(articles.into_iter().map(|row| (row.id, row)));
    let stamps = &mut state.observed.mirror.stamps;
    let moved = stamps.iter().filter(|(place, _)| place.folder == from);
    let moved = moved.map(|(place, stamp)| (Place::new(to, place.file.clone()), *stamp));
    stamps.extend(moved.collect::<Vec<_>>());
    let copies = std::mem::take(&mut state.observed.local.copies).into_iter();
    let moved = copies.map(|(mut copy, names)| {
        if copy.folder == from {
            to.clone_into(&mut copy.folder);
        }
        (copy, names)
    });
    state.observed.local.copies = moved.collect();
    Ok(())
}

/// Returns whether a `_category.yaml` has a `slug:` line. `None`: it cannot be read.
fn has_slug(disk: &impl Disk, folder: &str) -> Option<bool> {
    let yaml = disk
        .read(At::Folder(folder), CATEGORY_FILE, MAX_YAML)
        .ok()?;
    let document = CategoryDocument::parse(&yaml.bytes).ok()?;
    Some(document.slug().is_some())
}

/// Returns the rows that become true with a settlement.
fn rows_of(settle: &SettleCategory, row: &CategoryRow, along: &[ArticleRow]) -> Vec<RowChange> {
    let mut rows = vec![RowChange::Category(Box::new(row.clone()))];
    let along = along.iter().cloned().map(Box::new);
    rows.extend(along.map(RowChange::Article));
    let is_told = settle.write || settle.from != settle.to;
    if let Some(to) = settle.to.as_ref().filter(|_| is_told) {
        let action = match settle.from {
            Some(_) => "update-category",
            None if settle.write => "create-category",
            None => "adopt",
        };
        let (side, detail) = (Side::Local, settle.id.to_string());
        let event = Deed::new(action, side, to, None, detail);
        rows.push(RowChange::Event(Box::new(event)));
    }
    rows
}

/// Returns a folder's `_category.yaml` as it was scanned; `None`: there was none.
pub(super) fn scanned_yaml(folder: &str, state: &ApplyState<'_>) -> Option<LocalCategory> {
    let mut scanned = state.observed.local.categories.iter();
    let category = scanned.find(|category| category.folder == folder);
    category
        .filter(|category| category.version.is_some())
        .cloned()
}

/// Returns whether a file still has the scanned id and words.
fn is_as_scanned(found: Option<&[u8]>, scanned: Option<&LocalCategory>) -> bool {
    let (Some(bytes), Some(scanned)) = (found, scanned) else {
        return found.is_none() && scanned.is_none();
    };
    CategoryDocument::parse(bytes).is_ok_and(|document| {
        let words = category_version(&scanned.folder, &document).ok();
        document.id() == scanned.id && words == scanned.version
    })
}

/// The words to write into a `_category.yaml`.
pub(super) struct NewYaml<'a> {
    pub(super) folder: &'a str,
    pub(super) id: CategoryId,
    pub(super) version: &'a CategoryVersion,
    pub(super) scanned: Option<&'a LocalCategory>,
    /// The last known words of the file; any others are a new edit by the writer.
    pub(super) before: Option<&'a CategoryVersion>,
    /// The folder's name until now, the slug of a file without a `slug:` line.
    pub(super) named: &'a str,
    /// The side that has the written words, and the cause, for the history.
    pub(super) seen: (Side, &'static str),
}

/// Reads `_category.yaml`, and fails if its words were edited since the scan: the plan does not cover a later edit.
fn read_yaml(
    disk: &impl Disk,
    folder: &str,
    scanned: Option<&LocalCategory>,
) -> Result<Option<Content>, NotDone> {
    let at = At::Folder(folder);
    let path = format!("{folder}/{CATEGORY_FILE}");
    let existing = match disk.look(at, CATEGORY_FILE)? {
        Some(_) => Some(disk.read(at, CATEGORY_FILE, MAX_YAML)?),
        None => None,
    };
    if existing.as_ref().is_some_and(|content| !content.whole) {
        let why = format!("{path} is larger than {MAX_YAML} bytes");
        return Err(NotDone::Failed(why));
    }
    let found = existing.as_ref().map(|content| content.bytes.as_slice());
    if !is_as_scanned(found, scanned) {
        return Err(DiskError::new(DiskErrorKind::Changed, "read", path).into());
    }
    Ok(existing)
}

/// Writes new words into `_category.yaml`. `rows` become true with the change.
pub(super) fn write_yaml<D: Disk>(
    journal: &mut Journal<'_, D>,
    new: &NewYaml<'_>,
    mut rows: Vec<RowChange>,
    state: &mut ApplyState<'_>,
) -> Result<(), NotDone> {
    let (folder, id, version) = (new.folder, new.id, new.version);
    let existing = read_yaml(journal.disk, folder, new.scanned)?;
    let document = existing
        .as_ref()
        .map(|content| CategoryDocument::parse(&content.bytes))
        .transpose()
        .map_err(|problem| NotDone::Failed(problem.to_string()))?;
    // A missing file comes back as it was.
    let last = match &document {
        Some(_) => None,
        None => last_document(journal.store, id, None)?,
    };
    let form = document.as_ref().or(last.as_ref());
    let source = category_file(id, folder, version, form);
    if (existing.as_ref()).is_some_and(|content| content.bytes == source.as_bytes()) {
        journal
            .store
            .write(|tx| rows.iter().try_for_each(|row| tx.apply(row)))?;
        return Ok(());
    }
    let mut entry = HistoryEntry::default();
    if let Some(document) = &document {
        let replaced = document.source();
        let words = words_of(document, new.named);
        let cause = if new.before == Some(&words) {
            "replaced"
        } else {
            "edited here"
        };
        let seen = seen_as(id, folder, (Side::Local, cause), &words, replaced);
        entry = HistoryEntry::of_seen(seen, replaced, replaced);
    }
    entry.bodies.push(source.clone());
    let after = seen_as(id, folder, new.seen, version, &source);
    rows.push(RowChange::Version(Box::new(after)));
    let place = Place::new(folder, CATEGORY_FILE);
    let over = existing
        .as_ref()
        .map(|content| KnownFile::of(content.stamp, &content.bytes));
    let mut change = journal.stage(&place, source.as_bytes(), over, None, Durability::Now)??;
    change.history = entry;
    change.rows = rows;
    let stamp = journal.change_file(change)??;
    // The file may be saved again within a clock tick: its stamp is racy in this cycle.
    let mirror = &mut state.observed.mirror;
    mirror.category_stamps.insert(folder.to_owned(), stamp);
    mirror.racy.push(stamp);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f083_a_category_saved_twice_within_a_tick_is_not_what_was_scanned() {
        let scanned = |description: &str| LocalCategory {
            folder: "start".to_owned(),
            id: None,
            version: Some(CategoryVersion {
                name: "Start".to_owned(),
                slug: "start".to_owned(),
                description: description.to_owned(),
                meta_description: String::new(),
            }),
        };
        let bytes: &[u8] = b"name: Start\ndescription: Mine.\n";
        assert!(is_as_scanned(Some(bytes), Some(&scanned("Mine."))));
        assert!(!is_as_scanned(Some(bytes), Some(&scanned("Before."))));
        assert!(!is_as_scanned(Some(b"\"\n"), Some(&scanned("Mine."))));
        assert!(!is_as_scanned(Some(bytes), None));
        assert!(!is_as_scanned(None, Some(&scanned("Mine."))));
        assert!(is_as_scanned(None, None));
    }
}
