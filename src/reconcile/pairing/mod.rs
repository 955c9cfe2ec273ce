//! Pairs files with articles, and folders with categories.
//!
//! In this order: the id in the file; the place in the state, so that a renamed folder takes its files along; category
//! and slug, if the service has an article that nothing else claims. Every other file is new, with an exception: if its
//! title and text are those of an article without a file, or of a pending creation at another place, a person decides
//! whether it is new. Contents are never compared otherwise. Of two files with one id, the file at the place in the
//! state keeps the id, and the other file is a new article.

mod creations;
mod folders;
mod ids;

use crate::model::{ArticleId, CategoryId, Version};
use crate::reconcile::plan::Problem;
use crate::reconcile::snapshot::{
    Base, LocalCategory, LocalFile, LocalSnapshot, RemoteSnapshot, Seen, Unknown,
};
pub(crate) use creations::may_be_of;
use ids::{StatePlaces, claim_by_id};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Display,
};

/// The mirror with the identity of every file and folder.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Paired {
    /// The files of existing articles.
    pub files: BTreeMap<ArticleId, LocalFile>,
    /// Articles whose file is present, or may be present, but cannot be read as an article; with the reason.
    pub unknown: BTreeMap<ArticleId, String>,
    /// Files that are new articles.
    pub new_files: Vec<LocalFile>,
    /// Folders of categories; new categories have provisional ids.
    pub categories: BTreeMap<CategoryId, LocalCategory>,
    /// Files and folders that could not be paired.
    pub problems: Vec<Problem>,
}

impl Paired {
    /// Returns the folder of a category.
    pub fn folder(&self, id: CategoryId) -> Option<&str> {
        self.categories
            .get(&id)
            .map(|category| category.folder.as_str())
    }

    /// Returns whether no file in the mirror claims an article.
    fn is_free(&self, id: ArticleId) -> bool {
        !self.files.contains_key(&id) && !self.unknown.contains_key(&id)
    }

    /// Marks an article as unknown: its file is present, or may be.
    fn doubt(&mut self, id: ArticleId, why: &str) {
        self.unknown.insert(id, why.to_owned());
    }

    /// Reports a file or a folder that could not be paired.
    fn report(&mut self, path: impl Display, id: Option<ArticleId>, message: String) {
        self.problems.push(Problem::at(path, id, message));
    }

    /// Marks articles without a ready file as unknown.
    fn mark_unknown(&mut self, ids: impl IntoIterator<Item = ArticleId>, why: &str) {
        for id in ids {
            if !self.files.contains_key(&id) {
                self.unknown.entry(id).or_insert_with(|| why.to_owned());
            }
        }
    }
}

/// Pairs a scanned mirror with the base and with the observed service.
pub fn pair(base: &Base, local: &LocalSnapshot, remote: &RemoteSnapshot) -> Paired {
    let mut paired = Paired::default();
    let folders = folders::pair_folders(base, local, remote, &mut paired);
    let places = StatePlaces::of(base);
    let unready = unready(local, &folders, &places);
    let files = with_categories(local, &folders, &mut paired);
    let (files, held) = creations::hold_moved(base, local, &folders, files, &mut paired);
    let left = claim_by_id(base, &places, &unready, files, &mut paired);
    paired.mark_unknown(unready, NOT_READY);
    paired.mark_unknown(held, "another file may be the article's");
    let left = claim_by_place(base, local, &places, left, &mut paired);
    claim_by_slug(base, local, remote, left, &mut paired);
    ids::mark_both_unknown(base, &places, remote, &mut paired);
    creations::hold_same_words(base, remote, &mut paired);
    creations::hold_unanswered(base, remote, &mut paired);
    creations::report_waiting(base, &mut paired);
    mark_unproven(base, local, &folders, &mut paired);
    paired
}

const NOT_READY: &str = "its file is not ready";

/// Returns the articles for which the mirror has a file that is not ready: at the article's place in the state, or
/// anywhere with the article's id.
fn unready(
    local: &LocalSnapshot,
    folders: &BTreeMap<&str, CategoryId>,
    places: &StatePlaces<'_>,
) -> BTreeSet<ArticleId> {
    let owner = |unknown: &Unknown| {
        let category = folders.get(unknown.place.folder.as_str()).copied();
        places.owner(category, &unknown.place)
    };
    let unknown = local.unknown.iter();
    let articles = unknown.flat_map(|unknown| owner(unknown).into_iter().chain(unknown.id));
    articles.collect()
}

/// Gives each file its folder's category. In a folder without a category, the article whose id a file has becomes
/// unknown.
fn with_categories(
    local: &LocalSnapshot,
    folders: &BTreeMap<&str, CategoryId>,
    paired: &mut Paired,
) -> Vec<LocalFile> {
    let mut files = Vec::with_capacity(local.files.len());
    for file in &local.files {
        if let Some(&category) = folders.get(file.place.folder.as_str()) {
            let mut file = file.clone();
            file.version.category = category;
            files.push(file);
        } else if let Some(id) = file.id {
            paired.doubt(id, "its folder's category is not clear");
        }
    }
    files
}

/// Pairs files without an id with the articles at their places in the state.
fn claim_by_place(
    base: &Base,
    local: &LocalSnapshot,
    places: &StatePlaces<'_>,
    files: Vec<LocalFile>,
    paired: &mut Paired,
) -> Vec<LocalFile> {
    let mut left = files;
    // A renamed folder takes its files along. A file in a new folder of the old name is another file.
    for owner in [StatePlaces::owner_along, StatePlaces::owner_of] {
        for file in std::mem::take(&mut left) {
            match owner(places, &file).filter(|id| paired.is_free(*id)) {
                Some(id) => claim(id, file, base, local, paired),
                None => left.push(file),
            }
        }
    }
    left
}

/// Pairs a file without an id with the article at its place or address. If the file's content is edited and some file
/// in the mirror cannot be read, the unreadable file may be the article's own, moved by its writer; then this file's
/// content is not meant for the article.
fn claim(id: ArticleId, file: LocalFile, base: &Base, local: &LocalSnapshot, paired: &mut Paired) {
    let edited = base
        .articles
        .get(&id)
        .is_some_and(|row| !row.local.same_words(&file.version));
    match local.unreadable_files.first().filter(|_| edited) {
        Some(unread) => {
            let message = format!(
                "it has no `id:` line, and kbsync cannot tell whether it is the file of article {id} until \
                 {unread} can be read"
            );
            paired.report(&file.place, Some(id), message);
            paired.doubt(id, "its file may be one that cannot be read");
        }
        None => {
            paired.files.insert(id, file);
        }
    }
}

/// Pairs files without an id with the unclaimed articles that have their category and slug.
///
/// An article that moved to the address since the last agreement is left out: the writer of the file never saw its
/// text.
fn claim_by_slug(
    base: &Base,
    local: &LocalSnapshot,
    remote: &RemoteSnapshot,
    files: Vec<LocalFile>,
    paired: &mut Paired,
) {
    if files.is_empty() {
        return;
    }
    let has_moved_here = |id: &ArticleId, seen: &Seen| {
        let row = base.articles.get(id);
        row.is_some_and(|row| address(&row.remote) != address(&seen.version))
    };
    let listed = remote.articles.iter();
    let listed = listed.filter_map(|(id, entry)| Some((id, entry.present()?)));
    let free = listed.filter(|(id, seen)| paired.is_free(**id) && !has_moved_here(id, seen));
    let by_slug: BTreeMap<_, ArticleId> = free
        .map(|(id, seen)| (address(&seen.version), *id))
        .collect();
    for file in files {
        // A pending creation of this file is not the article whose address the writer has given to the file since.
        let mut creations = base.creations.iter();
        let is_created = creations.any(|creation| creations::is_at(creation, &file));
        let found = by_slug.get(&address(&file.version)).copied();
        match found.filter(|id| !is_created && paired.is_free(*id)) {
            Some(id) => claim(id, file, base, local, paired),
            None => paired.new_files.push(file),
        }
    }
}

fn address(version: &Version) -> (CategoryId, &str) {
    (version.category, &version.slug)
}

/// Marks articles whose absence is not proven.
fn mark_unproven(
    base: &Base,
    local: &LocalSnapshot,
    folders: &BTreeMap<&str, CategoryId>,
    paired: &mut Paired,
) {
    // Several folders claim such a category, or the folder is another workspace's: a file without an id may be in any
    // of them.
    let categories = local.categories.iter();
    let unclear: Vec<_> = categories
        .filter(|category| !folders.contains_key(category.folder.as_str()))
        .collect();
    for row in base.articles.values() {
        let why = if !local.complete {
            "the mirror was not read whole"
        } else if local.unreadable.contains(row.place.folder.as_str()) {
            "its folder cannot be read"
        } else if unclear.iter().any(|category| {
            category.id == Some(row.local.category) || category.folder == row.place.folder
        }) {
            "its folder's category is not clear"
        } else {
            continue;
        };
        paired.mark_unknown([row.id], why);
    }
}
