//! Differences for a person: each present file beside the same file with the other version's content.
//!
//! The other version (of the base or the service) gets the form of the file, so that the writer's comments, quoting and
//! own keys do not show as differences. Nothing is written.

mod service;

use super::mirror_view::{Difference, MirrorView};
use super::reasons::put_below;
use super::settings::Settings;
use crate::engine::form::{MAX_FILE, category_changes, slug_key};
use crate::mirror::disk::{At, Disk};
use crate::mirror::document::{CategoryDocument, Changes, Document};
use crate::model::path::CATEGORY_FILE;
use crate::model::{ArticleId, CategoryId, CategoryVersion, Flags, Place, Version};
use crate::state::store::Store;

/// Two versions of one file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Pair {
    /// The place of the other version; `None`: the file is new.
    pub old_path: Option<String>,
    /// The place of the file; `None`: the file is gone.
    pub new_path: Option<String>,
    /// The other version.
    pub old: String,
    /// The file.
    pub new: String,
}

/// The result of a comparison.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Comparison {
    /// Files with a difference, by path.
    pub pairs: Vec<Pair>,
    /// The files and articles that could not be compared, with the reasons.
    pub notes: Vec<String>,
}

/// A scanned mirror, for a comparison.
pub struct Comparer<'a, D> {
    disk: &'a D,
    store: &'a mut Store,
    view: MirrorView,
    scope: Vec<String>,
}

/// The version that an article's file is compared with.
struct Other<'v> {
    id: ArticleId,
    place: &'v Place,
    version: &'v Version,
    /// `None`: unknown, as for the service; then the file's flags are used.
    flags: Option<Flags>,
    text: Option<String>,
}

impl<'a, D: Disk> Comparer<'a, D> {
    /// Scans the mirror. An empty scope is all of it.
    pub fn new(disk: &'a D, store: &'a mut Store, scope: Vec<String>) -> anyhow::Result<Self> {
        Ok(Self {
            disk,
            view: MirrorView::read(disk, store)?,
            store,
            scope,
        })
    }

    /// Compares the files with the base.
    pub fn with_base(self, settings: &Settings) -> anyhow::Result<Comparison> {
        let mut pairs = Vec::new();
        for Difference { row, file } in self.view.differences() {
            let file = file.map(|file| &file.place);
            let mut places = file.into_iter().chain(row.map(|row| &row.place));
            if !places.any(|place| self.covers(place)) {
                continue;
            }
            let other = match row {
                Some(row) => Some(Other {
                    id: row.id,
                    place: &row.place,
                    version: &row.local,
                    flags: Some(row.file_flags),
                    text: self.store.body(row.local.text)?,
                }),
                None => None,
            };
            pairs.extend(self.article(other.as_ref(), file)?);
        }
        for (id, folder) in self.categories() {
            let row = self.view.base.categories.get(&id);
            let other = row.map(|row| (row.folder.as_deref().unwrap_or(&folder), &row.local));
            pairs.extend(self.category(id, &folder, other)?);
        }
        Ok(self.done(pairs, settings))
    }

    /// Puts an article's file beside its other version. `None`: they are equal.
    fn article(
        &self,
        other: Option<&Other<'_>>,
        file: Option<&Place>,
    ) -> anyhow::Result<Option<Pair>> {
        let new = match file {
            Some(place) => self.read(place)?,
            None => String::new(),
        };
        let old = other.map_or_else(String::new, |other| {
            let document = Document::parse_leniently(new.as_bytes()).ok();
            let written = document.as_ref().and_then(Document::slug);
            let changes = Changes {
                id: Some(other.id.uuid()),
                slug: slug_key(other.place, &other.version.slug, written),
                enabled: other.flags.map(|flags| flags.enabled),
                draft: other.flags.map(|flags| flags.draft),
                text: other.text.clone(),
                ..Changes::words(other.version)
            };
            match document {
                Some(document) => document.edit(&changes),
                None => Document::compose(&changes),
            }
        });
        Ok(Pair::of(other.map(|other| other.place), file, old, new))
    }

    /// Returns the categories that have a `_category.yaml` in scope.
    fn categories(&self) -> Vec<(CategoryId, String)> {
        let known = self.view.paired.categories.iter();
        known
            .filter(|(_, category)| category.version.is_some())
            .map(|(id, category)| (*id, category.folder.clone()))
            .filter(|(_, folder)| self.covers(&Place::new(folder, CATEGORY_FILE)))
            .collect()
    }

    /// Puts a category's file beside its other version, with that version's folder. `None`: they are equal.
    fn category(
        &self,
        id: CategoryId,
        folder: &str,
        other: Option<(&str, &CategoryVersion)>,
    ) -> anyhow::Result<Option<Pair>> {
        let place = Place::new(folder, CATEGORY_FILE);
        let new = self.read(&place)?;
        let document = CategoryDocument::parse(new.as_bytes()).ok();
        let old = document.zip(other).map(|(document, (was, version))| {
            document.edit(&Changes {
                name: document.name().map(|_| version.name.clone()),
                ..category_changes(id, was, version, document.slug())
            })
        });
        let was = other.map(|(was, _)| Place::new(was, CATEGORY_FILE));
        let old = old.unwrap_or_default();
        Ok(Pair::of(was.as_ref(), Some(&place), old, new))
    }

    fn read(&self, place: &Place) -> anyhow::Result<String> {
        let at = At::Folder(&place.folder);
        let content = self.disk.read(at, &place.file, MAX_FILE)?;
        Ok(String::from_utf8_lossy(&content.bytes).into_owned())
    }

    fn covers(&self, place: &Place) -> bool {
        let path = place.to_string();
        let mut scope = self.scope.iter();
        self.scope.is_empty() || scope.any(|named| *named == place.folder || *named == path)
    }

    fn done(self, mut pairs: Vec<Pair>, settings: &Settings) -> Comparison {
        let prefix = &settings.prefix;
        for pair in &mut pairs {
            for path in [&mut pair.old_path, &mut pair.new_path]
                .into_iter()
                .flatten()
            {
                put_below(prefix, path, None);
            }
        }
        pairs.sort_by_key(|pair| pair.new_path.clone().or_else(|| pair.old_path.clone()));
        let notes = self.view.problems.into_iter().map(|mut note| {
            put_below(prefix, &mut note.path, Some(&mut note.message));
            match note.path.as_str() {
                "" => note.message,
                path => format!("{path}: {}", note.message),
            }
        });
        Comparison {
            pairs,
            notes: notes.collect(),
        }
    }
}

impl Pair {
    /// Returns two versions that differ, or have different places.
    fn of(was: Option<&Place>, place: Option<&Place>, old: String, new: String) -> Option<Self> {
        let pair = Self {
            old_path: was.map(ToString::to_string),
            new_path: place.map(ToString::to_string),
            old,
            new,
        };
        (pair.old_path != pair.new_path || pair.old != pair.new).then_some(pair)
    }
}
