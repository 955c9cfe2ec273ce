//! Writes a restored file through the journal, and stores the replaced and the new text in the history.

use super::RestoredFile;
use crate::engine::form::{category_file, category_version};
use crate::engine::history::category::last_document;
use crate::engine::journal::Journal;
use crate::engine::mirror_view::MirrorView;
use crate::mirror::disk::{At, Disk};
use crate::mirror::document::{CategoryDocument, Changes};
use crate::model::path::CATEGORY_FILE;
use crate::model::{CategoryId, KnownFile, Place, Side, TextDigest, Timestamp, Version};
use crate::reconcile::copy_of;
use crate::reconcile::plan::Kind;
use crate::state::store::{HistoryEntry, Store};
use crate::state::{CategoryRow, Deed, RowChange, Subject};

/// Writes a restored file. Returns the path of a new `_category.yaml`, if both sides never agreed on its words.
pub(super) fn write_restored<D: Disk>(
    journal: &mut Journal<'_, D>,
    file: &RestoredFile,
    view: &MirrorView,
) -> anyhow::Result<Option<String>> {
    let target = &file.target;
    let place = &target.place;
    if let Some(old) = file.old() {
        let replaced = entry_of(journal.store, file, old, "replaced")?;
        journal.store.write(|tx| replaced.put(tx))?;
    }
    let conflict = target.id.and_then(|id| view.base.conflicts.get(&id));
    // A conflict whose copy is missing counts as settled by hand. But the file was missing as well, so the conflict is
    // not settled: the next cycle writes the copy again.
    if let Some(row) = conflict.filter(|row| row.copy.is_some())
        && copy_of(&view.local, row).is_none()
    {
        journal.store.write(|tx| tx.forget_copy(row.id))?;
    }
    if journal.disk.look(At::Root, &place.folder)?.is_none() {
        journal.disk.create_folder(&place.folder)?;
        journal.disk.sync_folder(At::Root)?;
    }
    let never_sent = match target.category.filter(|_| !target.is_category()) {
        Some(id) => name_folder(journal, id, &place.folder)?,
        None => None,
    };
    let mut new = entry_of(journal.store, file, &file.new, &file.cause())?;
    let version = new.seen.take().map(Box::new).map(RowChange::Version);
    journal.store.write(|tx| new.put(tx))?;
    let (action, id) = (Kind::Restore.word(), target.id.or(target.instead_of));
    let path = place.to_string();
    let deed = Deed::new(action, Side::Local, &path, id, file.described());
    let event = RowChange::Event(Box::new(deed));
    let rows = version.into_iter().chain([event]).collect();
    let over = file.present.as_ref();
    let over = over.map(|(stamp, old)| KnownFile::of(*stamp, old.as_bytes()));
    journal.write_file(place, file.new.as_bytes(), over, rows)??;
    Ok(never_sent)
}

/// Writes the `_category.yaml` of a restored folder without one: a folder name that is not the category's slug would
/// create another category, which the API cannot delete. Returns its path if its words were never sent.
fn name_folder<D: Disk>(
    journal: &mut Journal<'_, D>,
    id: CategoryId,
    folder: &str,
) -> anyhow::Result<Option<String>> {
    if (journal.disk.look(At::Folder(folder), CATEGORY_FILE)?).is_some() {
        return Ok(None);
    }
    let is_here = |row: &CategoryRow| row.folder.as_deref() == Some(folder);
    let mut others = journal.store.categories()?.into_iter();
    let is_taken = others.any(|row| row.id != id && is_here(&row));
    let own = journal.store.category(id)?;
    let own = own.filter(|row| row.folder.is_none() || is_here(row));
    let Some(row) = own.filter(|_| !is_taken) else {
        return Ok(None);
    };
    let text = match last_document(journal.store, id, Some(folder))? {
        Some(last) => last.edit(&Changes {
            id: Some(id.uuid()),
            ..Changes::default()
        }),
        None => category_file(id, folder, &row.local, None),
    };
    let words = CategoryDocument::parse(text.as_bytes()).ok();
    let words = words.and_then(|document| category_version(folder, &document).ok());
    let is_agreed = words.as_ref() == Some(&row.local);
    if !is_agreed {
        // Later words of the service were not agreed to: the next cycle compares them with these.
        let row = CategoryRow {
            remote: row.local.clone(),
            read_at: Timestamp::default(),
            ..row
        };
        journal.store.write(|tx| tx.put_category(&row))?;
    }
    let place = Place::new(folder, CATEGORY_FILE);
    journal.write_file(&place, text.as_bytes(), None, Vec::new())??;
    Ok((!is_agreed).then(|| place.to_string()))
}

/// Makes a version of a file's text.
fn entry_of(
    store: &Store,
    file: &RestoredFile,
    source: &str,
    cause: &str,
) -> anyhow::Result<HistoryEntry> {
    let target = &file.target;
    let no_article = Version {
        text: TextDigest::of(source),
        ..file.version.seen.version.clone()
    };
    let (id, place) = (target.id, &target.place);
    let mut entry = HistoryEntry::of_text(store, id, place, (source, cause), no_article)?;
    let category = target.category.filter(|_| target.is_category());
    if let (Some(id), Some(seen)) = (category, &mut entry.seen) {
        seen.subject = Subject::category(id);
    }
    Ok(entry)
}
