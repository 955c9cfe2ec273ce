//! The check that a path holds what the state says: by it the daemon knows its own writes from a writer's.
//!
//! By stamp, and where stamps are too young to be trusted by digest, never by timing (failures row 79). It
//! only ever answers "known" when it is certain: anything else is for a cycle to look at.

use super::{Engine, waiting};
use crate::engine::form::{MAX_FILE, category_version, says};
use crate::mirror::disk::{At, Disk};
use crate::mirror::document::{CategoryDocument, Document};
use crate::model::base::{ArticleRow, CategoryRow};
use crate::model::path::{CATEGORY_FILE, EXTENSION};
use crate::model::{ArticleId, Place, Stamp};
use crate::service::Service;
use std::collections::BTreeSet;

impl<S: Service, D: Disk> Engine<S, D> {
    /// Returns whether a file, or its absence, is what the state says.
    pub fn is_known(&self, folder: &str, file: &str) -> bool {
        let place = Place::new(folder, file);
        self.file(&place).unwrap_or(false)
    }

    /// Returns whether everything in a folder is what the state says, and nothing is missing.
    pub fn is_folder_known(&self, folder: &str) -> bool {
        self.folder(folder).unwrap_or(false)
    }

    /// Files that the state knows and that are not there, but for those whose removal waits for a person.
    /// Empty where the mirror cannot be looked at: the next cycle says why.
    pub fn missing(&self) -> anyhow::Result<Vec<Place>> {
        let held = waiting::held(&self.store)?;
        let held: BTreeSet<ArticleId> = held.iter().filter_map(|held| held.id).collect();
        let rows = self.store.index()?;
        let gone = |place: &Place| {
            matches!(
                self.disk.look(At::Folder(&place.folder), &place.file),
                Ok(None)
            )
        };
        Ok(rows
            .into_iter()
            .filter(|row| !held.contains(&row.id) && gone(&row.place))
            .map(|row| row.place)
            .collect())
    }

    /// `None`: it cannot be told.
    fn file(&self, place: &Place) -> Option<bool> {
        let found = self
            .disk
            .look(At::Folder(&place.folder), &place.file)
            .ok()?;
        if place.file == CATEGORY_FILE {
            let row = self.category_of(&place.folder)?;
            return Some(found.is_some_and(|entry| self.is_category(&row, entry.stamp)));
        }
        // A copy beside it may have gone: that settles a conflict.
        let conflicts = self.store.conflicts().ok()?;
        if conflicts.iter().any(|row| row.place == *place) {
            return Some(false);
        }
        // What is held may be over: a file that came back, say.
        let (held, path) = (waiting::held(&self.store).ok()?, place.to_string());
        if held.iter().any(|held| held.path == path) {
            return Some(false);
        }
        let rows = self.store.articles_at(place).ok()?;
        Some(match (found, rows.as_slice()) {
            (None, []) => true,
            (Some(entry), [row]) => self.is_article(row, entry.stamp),
            (Some(_) | None, _) => false,
        })
    }

    fn folder(&self, folder: &str) -> Option<bool> {
        let entries = self.disk.list(At::Folder(folder)).ok()?.entries;
        let category = self.category_of(folder)?;
        let mut missing: BTreeSet<String> = self
            .store
            .index()
            .ok()?
            .into_iter()
            .filter(|row| row.place.folder == folder)
            .map(|row| row.place.file)
            .collect();
        for entry in entries {
            if entry.name == CATEGORY_FILE {
                if !self.is_category(&category, entry.stamp) {
                    return Some(false);
                }
            } else if entry.name.ends_with(EXTENSION) {
                let place = Place::new(folder, &entry.name);
                if !missing.remove(&entry.name) || !self.file(&place)? {
                    return Some(false);
                }
            }
        }
        Some(missing.is_empty())
    }

    fn category_of(&self, folder: &str) -> Option<CategoryRow> {
        let rows = self.store.categories().ok()?;
        rows.into_iter()
            .find(|row| row.folder.as_deref() == Some(folder))
    }

    fn is_article(&self, row: &ArticleRow, stamp: Stamp) -> bool {
        if row.stamp == Some(stamp) {
            return true;
        }
        let Place { folder, file } = &row.place;
        let Ok(content) = self.disk.read(At::Folder(folder), file, MAX_FILE) else {
            return false;
        };
        Document::parse(&content.bytes).is_ok_and(|document| {
            document.id() == Some(row.id)
                && document.flags() == row.file_flags
                && says(&document, &row.local)
        })
    }

    fn is_category(&self, row: &CategoryRow, stamp: Stamp) -> bool {
        row.stamp == Some(stamp) || words_as_recorded(&*self.disk, row).is_some()
    }
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
