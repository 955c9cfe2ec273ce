//! The check that a path holds what the state says: by it the daemon knows its own writes from a writer's.
//!
//! By stamp, and where stamps are too young to be trusted by digest, never by timing (failures row 79). It
//! only ever answers "known" when it is certain: anything else is for a cycle to look at.

use super::open_actions;
use crate::engine::form::{MAX_FILE, category_version, says};
use crate::mirror::disk::{At, Disk};
use crate::mirror::document::{CategoryDocument, Document};
use crate::model::base::{ArticleRow, CategoryRow};
use crate::model::path::{CATEGORY_FILE, EXTENSION};
use crate::model::{ArticleId, Place, Stamp};
use crate::state::store::Store;
use std::collections::BTreeSet;

/// Files that the state knows and that are not there, but for those whose removal waits for a person.
/// Empty where the mirror cannot be looked at: the next cycle says why.
pub(super) fn missing(disk: &impl Disk, store: &Store) -> anyhow::Result<Vec<Place>> {
    let held = open_actions::held(store)?;
    let held: BTreeSet<ArticleId> = held.iter().filter_map(|held| held.id).collect();
    let rows = store.index()?;
    let gone =
        |place: &Place| matches!(disk.look(At::Folder(&place.folder), &place.file), Ok(None));
    Ok(rows
        .into_iter()
        .filter(|row| !held.contains(&row.id) && gone(&row.place))
        .map(|row| row.place)
        .collect())
}

/// Returns whether a file, or its absence, is what the state says. `None`: it cannot be told.
pub(super) fn is_file_known(disk: &impl Disk, store: &Store, place: &Place) -> Option<bool> {
    let found = disk.look(At::Folder(&place.folder), &place.file).ok()?;
    if place.file == CATEGORY_FILE {
        let row = category_of(store, &place.folder)?;
        return Some(found.is_some_and(|entry| is_category(disk, &row, entry.stamp)));
    }
    // A copy beside it may have gone: that settles a conflict.
    let conflicts = store.conflicts().ok()?;
    if conflicts.iter().any(|row| row.place == *place) {
        return Some(false);
    }
    // What is held may be over: a file that came back, say.
    let (held, path) = (open_actions::held(store).ok()?, place.to_string());
    if held.iter().any(|held| held.path == path) {
        return Some(false);
    }
    let rows = store.articles_at(place).ok()?;
    Some(match (found, rows.as_slice()) {
        (None, []) => true,
        (Some(entry), [row]) => is_article(disk, row, entry.stamp),
        (Some(_) | None, _) => false,
    })
}

/// Returns whether everything in a folder is what the state says, and nothing is missing. `None`: it cannot be told.
pub(super) fn is_folder_known(disk: &impl Disk, store: &Store, folder: &str) -> Option<bool> {
    let entries = disk.list(At::Folder(folder)).ok()?.entries;
    let category = category_of(store, folder)?;
    let mut missing: BTreeSet<String> = store
        .index()
        .ok()?
        .into_iter()
        .filter(|row| row.place.folder == folder)
        .map(|row| row.place.file)
        .collect();
    for entry in entries {
        if entry.name == CATEGORY_FILE {
            if !is_category(disk, &category, entry.stamp) {
                return Some(false);
            }
        } else if entry.name.ends_with(EXTENSION) {
            let place = Place::new(folder, &entry.name);
            if !missing.remove(&entry.name) || !is_file_known(disk, store, &place)? {
                return Some(false);
            }
        }
    }
    Some(missing.is_empty())
}

fn category_of(store: &Store, folder: &str) -> Option<CategoryRow> {
    let rows = store.categories().ok()?;
    rows.into_iter()
        .find(|row| row.folder.as_deref() == Some(folder))
}

fn is_article(disk: &impl Disk, row: &ArticleRow, stamp: Stamp) -> bool {
    if row.stamp == Some(stamp) {
        return true;
    }
    let Place { folder, file } = &row.place;
    let Ok(content) = disk.read(At::Folder(folder), file, MAX_FILE) else {
        return false;
    };
    Document::parse(&content.bytes).is_ok_and(|document| {
        document.id() == Some(row.id)
            && document.flags() == row.file_flags
            && says(&document, &row.local)
    })
}

fn is_category(disk: &impl Disk, row: &CategoryRow, stamp: Stamp) -> bool {
    row.stamp == Some(stamp) || words_as_recorded(disk, row).is_some()
}

/// Reads a category's own file. Returns its stamp, if the file says what the state says.
pub(super) fn words_as_recorded(disk: &impl Disk, row: &CategoryRow) -> Option<Stamp> {
    let folder = row.folder.as_deref()?;
    let content = disk
        .read(At::Folder(folder), CATEGORY_FILE, MAX_FILE)
        .ok()?;
    let document = CategoryDocument::parse(&content.bytes).ok()?;
    let same = document.id() == Some(row.id)
        && category_version(folder, &document).is_ok_and(|version| version == row.local);
    same.then_some(content.stamp)
}
