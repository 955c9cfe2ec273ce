//! Lists the categories and articles that the first sync would create from a folder.
//!
//! The scan follows the rules of a sync (`.kbsyncignore` included). Nothing is written, and nothing is sent.
//! `init` asks for the consent.

use super::{counts::several, failure::Failure, print::escape};
use crate::{
    mirror::{CategoryContent, KnownCategories, RealDisk, ScannedCategory, ScannedFile, scan},
    model::{
        Place,
        path::{CATEGORY_FILE, slug_of_stem},
    },
};
use serde::Serialize;
use std::{collections::BTreeSet, path::Path};

/// The most names of each kind that are listed.
const NAMED: usize = 10;

/// The content of a folder, as a sync would find it.
#[derive(Debug, Default)]
pub(super) struct FirstSyncPreview {
    categories: BTreeSet<String>,
    articles: BTreeSet<Place>,
    not_ready: BTreeSet<Place>,
}

/// The numbers of a preview, for scripts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub(super) struct Counts {
    categories: usize,
    articles: usize,
    not_ready: usize,
}

impl FirstSyncPreview {
    /// Scans a folder. A folder that does not exist yet has no files.
    pub(super) fn from(folder: &Path) -> Result<Self, Failure> {
        let mut found = Self::default();
        if !folder.exists() {
            return Ok(found);
        }
        let disk = RealDisk::open(folder)?;
        let scanned = scan(&disk, &|_, _| None, &KnownCategories::new(), &mut |file| {
            found.add(&file);
        });
        let scanned = scanned?;
        for category in scanned.categories {
            found.add_category(category);
        }
        Ok(found)
    }

    fn add(&mut self, file: &ScannedFile) {
        match file {
            ScannedFile::Ready {
                place, document, ..
            } if document.slug().is_some() || slug_of_stem(place.stem()).is_ok() => {
                self.articles.insert(place.clone());
            }
            ScannedFile::Ready { place, .. } | ScannedFile::NotReady { place, .. } => {
                self.not_ready.insert(place.clone());
            }
            // The scan was given no known file.
            ScannedFile::Unchanged { .. } | ScannedFile::Present { .. } => {}
        }
    }

    /// Counts a folder after its files. A folder without an address is no category, and its articles are not ready.
    fn add_category(&mut self, category: ScannedCategory) {
        let folder = category.folder;
        let has_address = match &category.content {
            CategoryContent::Ready(words) if words.id().is_some() || words.slug().is_some() => true,
            // A category with an id may be on the service already.
            CategoryContent::NotReady(problem) => problem.category.is_some(),
            CategoryContent::Ready(_) | CategoryContent::Missing | CategoryContent::Unchanged => {
                slug_of_stem(&folder).is_ok()
            }
        };
        let has_file = !matches!(category.content, CategoryContent::Missing);
        let in_folder = |place: &Place| place.folder == folder;
        if !has_address {
            self.not_ready
                .extend(self.articles.extract_if(.., |place| in_folder(place)));
            self.not_ready
                .extend(has_file.then(|| Place::new(&*folder, CATEGORY_FILE)));
        } else if has_file || self.articles.iter().any(in_folder) {
            self.categories.insert(folder);
        }
    }

    /// Returns whether a sync would create anything from this folder.
    pub(super) fn has_any(&self) -> bool {
        !self.categories.is_empty()
    }

    /// Returns the numbers of each kind.
    pub(super) fn counts(&self) -> Counts {
        Counts {
            categories: self.categories.len(),
            articles: self.articles.len(),
            not_ready: self.not_ready.len(),
        }
    }

    /// Returns the numbers of categories and articles in words.
    pub(super) fn in_words(&self) -> String {
        let categories = several(self.categories.len(), "category");
        match self.articles.len() {
            0 => categories,
            articles => format!("{categories} and {}", several(articles, "article")),
        }
    }

    /// Returns a line for each kind, with the first names.
    pub(super) fn lines(&self) -> Vec<String> {
        let line = |kind: &str, names: Vec<String>| {
            (!names.is_empty()).then(|| format!("  {kind:<12}{}", listed(&names)))
        };
        let folders = self.categories.iter().map(|name| format!("{name}/"));
        let paths = |places: &BTreeSet<Place>| places.iter().map(Place::to_string).collect();
        let lines = [
            line("categories", folders.collect()),
            line("articles", paths(&self.articles)),
            line("not ready", paths(&self.not_ready)),
        ];
        lines.into_iter().flatten().collect()
    }
}

/// Returns the first names, and the number of the rest.
fn listed(names: &[String]) -> String {
    let shown: Vec<_> = names.iter().take(NAMED).map(|name| escape(name)).collect();
    let shown = shown.join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_cut_with_the_number_of_the_rest() {
        let names = |count: usize| -> Vec<String> { (1..=count).map(|n| n.to_string()).collect() };
        assert_eq!(listed(&names(2)), "1, 2");
        assert_eq!(listed(&names(10)), "1, 2, 3, 4, 5, 6, 7, 8, 9, 10");
        assert!(listed(&names(33)).ends_with("9, 10 and 23 more"));
    }
}
