//! The words of categories: `_category.yaml` beside what the base or the service has.

use super::Comparer;
use super::other::category_text;
use crate::mirror::disk::Disk;
use crate::model::path::CATEGORY_FILE;
use crate::model::path::near::{likely_meant, maybe_mistyped};
use crate::model::{CategoryId, CategoryVersion, Place};
use crate::service::{Purpose, Service, ServiceError};
use std::collections::BTreeMap;

/// So many categories that nobody named are asked for: no listing tells of them, and each costs a request.
const UNNAMED: usize = 5;

/// What the service said of categories on the way.
pub(super) type Met = BTreeMap<CategoryId, CategoryVersion>;

impl<D: Disk> Comparer<'_, D> {
    pub(super) fn categories(&mut self) -> anyhow::Result<()> {
        for (id, folder) in self.folders() {
            let row = self.base.categories.get(&id);
            let other = row.map(|row| {
                let was = row.folder.as_deref().unwrap_or(&folder);
                (was.to_owned(), row.local.clone())
            });
            self.category(id, &folder, other)?;
        }
        Ok(())
    }

    /// Compares with what the service has: all that were named or edited here, and a few of the others.
    pub(super) async fn categories_there<S: Service>(
        &mut self,
        service: &S,
        mut met: Met,
    ) -> anyhow::Result<Result<(), ServiceError>> {
        let mut folders = self.folders();
        // What was edited here is asked for before the others.
        folders.sort_by_key(|(id, folder)| !self.is_edited(*id, folder));
        let (mut unnamed, mut left) = (0, 0);
        for (id, folder) in folders {
            let version = if let Some(version) = met.remove(&id) {
                version
            } else {
                if self.scope.is_empty() && !self.is_edited(id, &folder) {
                    if unnamed == UNNAMED {
                        left += 1;
                        continue;
                    }
                    unnamed += 1;
                }
                match service.category(id, Purpose::Push).await {
                    Ok((category, _)) => category.version,
                    Err(error) if error.stops_all() => return Ok(Err(error)),
                    Err(error) => {
                        let why = format!("{folder}: its category cannot be read: {error}");
                        self.out.notes.push(why);
                        continue;
                    }
                }
            };
            self.category(id, &folder, Some((folder.clone(), version)))?;
        }
        if left > 0 {
            let were = if left == 1 {
                "1 more category was".to_owned()
            } else {
                format!("{left} more categories were")
            };
            self.out.notes.push(format!(
                "{were} not asked for: `kbsync diff --remote FOLDER` compares one"
            ));
        }
        Ok(Ok(()))
    }

    /// New folders whose names look like slips of the pen.
    pub(super) fn note_mistyped(&mut self) {
        let (new, known): (Vec<_>, Vec<_>) = self
            .paired
            .categories
            .iter()
            .partition(|(id, _)| id.is_provisional());
        for (_, category) in new {
            let folder = &category.folder;
            let known = known.iter().map(|(_, known)| known.folder.as_str());
            if self.covers(&Place::new(folder, CATEGORY_FILE))
                && let Some(meant) = likely_meant(folder, known)
            {
                let note = format!("{folder}: {}", maybe_mistyped(meant));
                self.out.notes.push(note);
            }
        }
    }

    /// The categories of the service that have a `_category.yaml`, as far as it is in scope.
    fn folders(&self) -> Vec<(CategoryId, String)> {
        let known = self.paired.categories.iter();
        known
            .filter(|(_, category)| category.version.is_some())
            .map(|(id, category)| (*id, category.folder.clone()))
            .filter(|(_, folder)| self.covers(&Place::new(folder, CATEGORY_FILE)))
            .collect()
    }

    fn is_edited(&self, id: CategoryId, folder: &str) -> bool {
        let row = self.base.categories.get(&id);
        let file = self.paired.categories.get(&id);
        let words = file.and_then(|category| category.version.as_ref());
        row.is_none_or(|row| words != Some(&row.local) || row.folder.as_deref() != Some(folder))
    }

    /// Adds a category's file and its other version, with that one's folder, if they differ.
    fn category(
        &mut self,
        id: CategoryId,
        folder: &str,
        other: Option<(String, CategoryVersion)>,
    ) -> anyhow::Result<()> {
        let place = Place::new(folder, CATEGORY_FILE);
        let new = self.read(&place)?;
        let (old_path, old) = match other {
            Some((was, version)) => {
                let path = Place::new(&was, CATEGORY_FILE).to_string();
                (Some(path), category_text(&new, &version, &was, id))
            }
            None => (None, String::new()),
        };
        self.add(old_path, Some(place.to_string()), old, new);
        Ok(())
    }
}
