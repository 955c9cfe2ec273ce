//! The taken names, and new names for articles and categories.
//!
//! A name that an action of the plan frees is available to the articles that are planned later.

use super::World;
use super::pairing::Paired;
use super::snapshot::LocalSnapshot;
use crate::model::path::{self, EXTENSION};
use crate::model::{ArticleId, CategoryId, Place};
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

/// The names in a mirror while a plan is made.
#[derive(Clone, Debug)]
pub(super) struct Names {
    files: BTreeMap<String, BTreeSet<String>>,
    top: BTreeSet<String>,
    folders: BTreeMap<CategoryId, String>,
}

impl Names {
    pub(super) fn new(local: &LocalSnapshot, paired: &Paired) -> Self {
        let folders: BTreeMap<CategoryId, String> = paired
            .categories
            .iter()
            .map(|(id, category)| (*id, category.folder.clone()))
            .collect();
        let claimed = |folder: &String| folders.values().any(|other| other == folder);
        let mut top = local.top.clone();
        // An empty folder counts as free: a person created it, or a run that died before it wrote `_category.yaml`.
        let empty = |folder: &String| local.names.get(folder).is_some_and(BTreeSet::is_empty);
        top.retain(|folder| claimed(folder) || !empty(folder));
        Self {
            files: local.names.clone(),
            top,
            folders,
        }
    }

    /// Frees a name that its file is about to leave.
    pub(super) fn free(&mut self, place: &Place) {
        if let Some(names) = self.files.get_mut(&place.folder) {
            names.remove(&path::fold(&place.file));
        }
    }

    /// Returns the folder of a category, if it has one by now.
    pub(super) fn folder(&self, id: CategoryId) -> Option<&str> {
        self.folders.get(&id).map(String::as_str)
    }

    /// Returns the folder of a category; a category without a folder gets one by its slug.
    pub(super) fn give_folder(&mut self, id: CategoryId, slug: &str) -> String {
        if let Some(folder) = self.folders.get(&id) {
            return folder.clone();
        }
        let name = path::stem_for(slug, id.uuid(), &|folded| self.top.contains(folded));
        self.top.insert(path::fold(&name));
        self.folders.insert(id, name.clone());
        name
    }

    /// Gives a category its known folder, which may have leftovers such as images, but nothing that is synced. Returns
    /// whether the folder is there, and no category has it.
    pub(super) fn give_back(&mut self, id: CategoryId, folder: &str) -> bool {
        let is_free =
            self.files.contains_key(folder) && self.folders.values().all(|other| other != folder);
        if is_free {
            self.folders.insert(id, folder.to_owned());
            self.top.insert(path::fold(folder));
        }
        is_free
    }

    /// Takes a folder back from a category that does not need it.
    pub(super) fn take_back(&mut self, id: CategoryId) {
        if let Some(name) = self.folders.remove(&id) {
            self.top.remove(&path::fold(&name));
            self.files.remove(&name);
        }
    }

    /// Reserves a name again that was freed only to look for another name.
    pub(super) fn reserve_again(&mut self, place: &Place) {
        let names = self.files.entry(place.folder.clone()).or_default();
        names.insert(path::fold(&place.file));
    }

    /// Gives a category a new folder name by its slug. For another case the name stays, as that of a file does.
    pub(super) fn rename_folder(&mut self, id: CategoryId, from: &str, slug: &str) -> String {
        self.top.remove(&path::fold(from));
        self.folders.remove(&id);
        let mut name = self.give_folder(id, slug);
        if path::fold(&name) == path::fold(from) {
            from.clone_into(&mut name);
            self.folders.insert(id, name.clone());
        }
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

    /// Keeps a file's name in another folder, or finds a similar name if the name is taken there.
    pub(super) fn keep_name(&mut self, folder: &str, place: &Place, id: ArticleId) -> Place {
        let names = self.files.entry(folder.to_owned()).or_default();
        if names.insert(path::fold(&place.file)) {
            return Place::new(folder, place.file.clone());
        }
        self.give_place(folder, place.stem(), id)
    }
}

impl World<'_> {
    /// Returns an unreadable folder that may be a category's: a second folder would claim its articles. It is one of:
    ///
    /// - the category's own folder;
    /// - an unknown folder with the name that the slug gives, from before the state was lost;
    /// - any unknown folder that cannot be listed, if the category has a folder in the state.
    pub(super) fn hidden_folder(&self, id: CategoryId, slug: &str) -> Option<String> {
        let own = self.base.categories.get(&id);
        let own = own.and_then(|row| row.folder.as_ref());
        let known = |folder: &String| {
            let mut rows = self.base.categories.values();
            rows.any(|row| row.folder.as_ref() == Some(folder))
        };
        let may_be = |folder: &&String| {
            let moved = own.is_some() && self.local.closed.contains(*folder);
            own == Some(*folder) || (!known(folder) && (moved || derived(folder, slug, id.uuid())))
        };
        self.local.unreadable.iter().find(may_be).cloned()
    }
}

/// Returns whether a name was made from a slug, and not chosen by a writer.
pub(super) fn derived(stem: &str, slug: &str, id: Uuid) -> bool {
    stem == slug
        || stem == path::stem_for(slug, id, &|folded| folded == path::fold(slug))
        || stem == path::stem_for(slug, id, &|_| false)
}
