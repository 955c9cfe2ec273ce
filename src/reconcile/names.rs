//! Which names are taken, and which name an article or a category gets (design, section 3, "Names").
//!
//! Names that are about to be left count as free, so that two articles can swap theirs.

use super::pairing::Paired;
use super::snapshot::LocalSnapshot;
use crate::model::path::{self, EXTENSION};
use crate::model::{ArticleId, CategoryId, Place};
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

/// The names of a mirror while a plan is made.
#[derive(Clone, Debug)]
pub(super) struct Names {
    files: BTreeMap<String, BTreeSet<String>>,
    top: BTreeSet<String>,
    folders: BTreeMap<CategoryId, String>,
}

impl Names {
    pub(super) fn new(local: &LocalSnapshot, paired: &Paired) -> Self {
        let folders = paired
            .categories
            .iter()
            .map(|(id, category)| (*id, category.folder.clone()))
            .collect();
        Self {
            files: local.names.clone(),
            top: local.top.clone(),
            folders,
        }
        .without_empty_folders(local)
    }

    /// A folder with nothing in it is there for the taking: a person made it, or a run that died before it
    /// wrote the `_category.yaml`.
    fn without_empty_folders(mut self, local: &LocalSnapshot) -> Self {
        for (folder, names) in &local.names {
            let claimed = self.folders.values().any(|other| other == folder);
            if names.is_empty() && !claimed && path::fold(folder) == *folder {
                self.top.remove(folder);
            }
        }
        self
    }

    /// Frees a name whose file is about to leave it.
    pub(super) fn leave(&mut self, place: &Place) {
        if let Some(names) = self.files.get_mut(&place.folder) {
            names.remove(&path::fold(&place.file));
        }
    }

    /// The folder of a category, if it has or was given one.
    pub(super) fn folder(&self, id: CategoryId) -> Option<&str> {
        self.folders.get(&id).map(String::as_str)
    }

    /// Gives a category the folder that its slug asks for.
    pub(super) fn give_folder(&mut self, id: CategoryId, slug: &str) -> String {
        if let Some(folder) = self.folders.get(&id) {
            return folder.clone();
        }
        let name = path::stem_for(slug, id.uuid(), &|folded| self.top.contains(folded));
        self.top.insert(path::fold(&name));
        self.folders.insert(id, name.clone());
        name
    }

    /// Takes back the folder that a category was given and does not need.
    pub(super) fn take_back(&mut self, id: CategoryId) {
        if let Some(name) = self.folders.remove(&id) {
            self.top.remove(&path::fold(&name));
            self.files.remove(&name);
        }
    }

    /// Takes a name again that was left only to look for another one.
    pub(super) fn stay(&mut self, place: &Place) {
        let names = self.files.entry(place.folder.clone()).or_default();
        names.insert(path::fold(&place.file));
    }

    /// Gives a category another folder name.
    pub(super) fn rename_folder(&mut self, id: CategoryId, from: &str, slug: &str) -> String {
        self.top.remove(&path::fold(from));
        self.folders.remove(&id);
        let name = self.give_folder(id, slug);
        if let Some(names) = self.files.remove(from) {
            self.files.insert(name.clone(), names);
        }
        name
    }

    /// Gives an article a place in a folder, by its slug.
    pub(super) fn give_place(&mut self, folder: &str, slug: &str, id: ArticleId) -> Place {
        let names = self.files.entry(folder.to_owned()).or_default();
        let stem = path::stem_for(slug, id.uuid(), &|folded| {
            names.contains(&path::fold(&format!("{folded}{EXTENSION}")))
        });
        let file = format!("{stem}{EXTENSION}");
        names.insert(path::fold(&file));
        Place::new(folder, file)
    }

    /// Keeps a file's name in another folder, or finds one like it when it is taken there.
    pub(super) fn keep_name(&mut self, folder: &str, place: &Place, id: ArticleId) -> Place {
        let names = self.files.entry(folder.to_owned()).or_default();
        if names.insert(path::fold(&place.file)) {
            return Place::new(folder, place.file.clone());
        }
        self.give_place(folder, place.stem(), id)
    }
}

/// Tells whether a name comes from a slug, and not from a writer who chose it.
pub(super) fn derived(stem: &str, slug: &str, id: Uuid) -> bool {
    stem == slug
        || stem == path::stem_for(slug, id, &|folded| folded == path::fold(slug))
        || stem == path::stem_for(slug, id, &|_| false)
}
