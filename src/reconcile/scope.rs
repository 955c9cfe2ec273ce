//! The paths of a command. A `restore` of a folder has thousands of paths, and every file is looked up.

use crate::model::Place;
use crate::model::path::CATEGORY_FILE;
use std::collections::BTreeSet;

/// The paths in scope, each a folder, a file, or a file without its ending; empty: everything.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Scope(BTreeSet<String>);

impl Scope {
    /// Returns whether everything is in scope.
    pub fn is_whole(&self) -> bool {
        self.0.is_empty() || self.0.contains(".")
    }

    /// Returns whether no paths were named.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a path. A `/` after a folder is optional.
    pub fn add(&mut self, path: &str) {
        self.0.insert(path.trim_end_matches('/').to_owned());
    }

    /// Returns whether a place is in scope.
    pub fn covers(&self, place: &Place) -> bool {
        let names = |name: &str| self.0.contains(&format!("{}/{name}", place.folder));
        self.is_whole()
            || self.0.contains(&place.folder)
            || names(&place.file)
            || names(place.stem())
    }

    /// Returns whether a category's own texts are in scope: whole folders only.
    pub fn covers_folder(&self, folder: &str) -> bool {
        self.is_whole()
            || self.0.contains(folder)
            || self.0.contains(&format!("{folder}/{CATEGORY_FILE}"))
    }
}

impl<'p> FromIterator<&'p String> for Scope {
    fn from_iter<I: IntoIterator<Item = &'p String>>(paths: I) -> Self {
        let mut scope = Self::default();
        paths.into_iter().for_each(|path| scope.add(path));
        scope
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_a_folder_a_file_or_a_file_without_its_ending() {
        let place = Place::new("start", "one.html");
        for (path, covered, words) in [
            ("start", true, true),
            ("start/", true, true),
            (".", true, true),
            ("start/one.html", true, false),
            ("start/one", true, false),
            ("start/_category.yaml", false, true),
            ("start/on", false, false),
            ("star", false, false),
            ("one.html", false, false),
            ("other/one.html", false, false),
        ] {
            let scope: Scope = [&path.to_owned()].into_iter().collect();
            let found = (scope.covers(&place), scope.covers_folder("start"));
            assert_eq!(found, (covered, words), "{path}");
        }
        assert!(Scope::default().covers(&place) && Scope::default().covers_folder("start"));
    }
}
