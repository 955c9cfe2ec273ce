//! The words of categories: `_category.yaml` beside what the base or the service has.

use super::{Comparer, Pair};
use crate::engine::form::slug_key;
use crate::mirror::disk::Disk;
use crate::mirror::document::{CategoryChanges, CategoryDocument};
use crate::model::path::near::{likely_meant, maybe_mistyped};
use crate::model::path::{CATEGORY_FILE, EXTENSION};
use crate::model::{CategoryId, CategoryVersion, Place};
use crate::reconcile::plan::Problem;
use crate::service::{Purpose, Service};
use std::collections::BTreeMap;

/// So many categories that nobody named are asked for: no listing shows them, and each costs a request.
const UNNAMED: usize = 5;

impl<D: Disk> Comparer<'_, D> {
    pub(super) fn categories(&mut self) -> anyhow::Result<()> {
        for (id, folder) in self.folders() {
            let row = self.view.base.categories.get(&id).cloned();
            let other = row.map(|row| (row.folder.unwrap_or_else(|| folder.clone()), row.local));
            self.category(id, &folder, other.as_ref())?;
        }
        Ok(())
    }

    /// Compares with what the service has: all that were named or edited here, and a few of the others.
    pub(super) async fn categories_there<S: Service>(
        &mut self,
        service: &S,
        mut shown: BTreeMap<CategoryId, CategoryVersion>,
    ) -> anyhow::Result<()> {
        let mut folders = self.folders();
        // The edited ones are asked for before the others.
        folders.sort_by_key(|(id, folder)| !self.is_edited(*id, folder));
        let mut unnamed = 0;
        for (id, folder) in folders {
            let version = if let Some(version) = shown.remove(&id) {
                version
            } else {
                if self.scope.is_empty() && !self.is_edited(id, &folder) {
                    unnamed += 1;
                    if unnamed > UNNAMED {
                        continue;
                    }
                }
                match service.category(id, Purpose::Push).await {
                    Ok((category, _)) => category.version,
                    Err(error) if error.stops_all() => return Err(error.into()),
                    Err(error) => {
                        let why = format!("its category cannot be read: {error}");
                        self.notes.push(Problem::at(folder, None, why));
                        continue;
                    }
                }
            };
            self.category(id, &folder, Some(&(folder.clone(), version)))?;
        }
        let were = match unnamed.saturating_sub(UNNAMED) {
            0 => return Ok(()),
            1 => "1 more category was".to_owned(),
            left => format!("{left} more categories were"),
        };
        let why = format!("{were} not asked for: `kbsync diff --remote FOLDER` compares one");
        self.notes.push(Problem::at("", None, why));
        Ok(())
    }

    /// Notes new folders whose names look like typing errors.
    pub(super) fn note_mistyped(&mut self) {
        let categories = self.view.paired.categories.iter();
        let (new, known): (Vec<_>, Vec<_>) = categories.partition(|(id, _)| id.is_provisional());
        for (_, category) in new {
            let folder = &category.folder;
            let known = known.iter().map(|(_, known)| known.folder.as_str());
            if self.covers(&Place::new(folder, CATEGORY_FILE))
                && let Some(meant) = likely_meant(folder, known)
            {
                let note = Problem::at(folder, None, maybe_mistyped(meant));
                self.notes.push(note);
            }
        }
    }

    /// The categories of the service that have a `_category.yaml`, as far as it is in scope.
    fn folders(&self) -> Vec<(CategoryId, String)> {
        let known = self.view.paired.categories.iter();
        known
            .filter(|(_, category)| category.version.is_some())
            .map(|(id, category)| (*id, category.folder.clone()))
            .filter(|(_, folder)| self.covers(&Place::new(folder, CATEGORY_FILE)))
            .collect()
    }

    fn is_edited(&self, id: CategoryId, folder: &str) -> bool {
        let row = self.view.base.categories.get(&id);
        let file = self.view.paired.categories.get(&id);
        let words = file.and_then(|category| category.version.as_ref());
        row.is_none_or(|row| words != Some(&row.local) || row.folder.as_deref() != Some(folder))
    }

    /// Adds a category's file and its other version, with that one's folder, if they differ.
    fn category(
        &mut self,
        id: CategoryId,
        folder: &str,
        other: Option<&(String, CategoryVersion)>,
    ) -> anyhow::Result<()> {
        let place = Place::new(folder, CATEGORY_FILE);
        let new = self.read(&place)?;
        let pair = Pair {
            old_path: other.map(|(was, _)| Place::new(was, CATEGORY_FILE).to_string()),
            new_path: Some(place.to_string()),
            old: other.map_or_else(String::new, |(was, version)| {
                category_text(&new, version, was, id)
            }),
            new,
        };
        self.out.pairs.extend(Some(pair).filter(Pair::differs));
        Ok(())
    }
}

/// `_category.yaml` as another version would have it.
fn category_text(new: &str, version: &CategoryVersion, folder: &str, id: CategoryId) -> String {
    let Ok(document) = CategoryDocument::parse(new.as_bytes()) else {
        return String::new();
    };
    let place = Place::new("", format!("{folder}{EXTENSION}"));
    document.edit(&CategoryChanges {
        id: Some(id),
        name: document.name().map(|_| version.name.clone()),
        slug: slug_key(&place, &version.slug, document.slug()),
        description: Some(version.description.clone()),
        meta_description: Some(version.meta_description.clone()),
    })
}
