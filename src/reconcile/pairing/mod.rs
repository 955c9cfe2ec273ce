//! Which file is which article, and which folder is which category.
//!
//! In order: the id in the file; the place in the state, so that a renamed folder takes its files along; category and
//! slug, where the service has an article that nothing else claims; else it is new, unless its title and its text are
//! those of an article without a file, or were sent to create one from another place: then a person says which of the
//! two it is. Words are never compared otherwise. Of two files with one id the one at the place in the state keeps it,
//! and the other is a new article.

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

/// The mirror with every file and folder given its identity.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Paired {
    /// Files of articles that have an id.
    pub files: BTreeMap<ArticleId, LocalFile>,
    /// Articles whose file is there, or may be there, but cannot be read as one.
    pub unknown: BTreeMap<ArticleId, String>,
    /// Files that are new articles.
    pub fresh: Vec<LocalFile>,
    /// Folders of categories, new ones under their provisional ids.
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

    /// Returns whether nothing in the mirror claims an article.
    fn is_free(&self, id: ArticleId) -> bool {
        !self.files.contains_key(&id) && !self.unknown.contains_key(&id)
    }

    /// Marks an article whose file is there, or may be there.
    fn doubt(&mut self, id: ArticleId, why: &str) {
        self.unknown.insert(id, why.to_owned());
    }

    /// Reports a file or a folder that could not be paired.
    fn report(&mut self, path: impl Display, id: Option<ArticleId>, message: String) {
        self.problems.push(Problem::at(path, id, message));
    }

    /// Marks articles of which no ready file was found.
    fn mark_unknown(&mut self, ids: impl IntoIterator<Item = ArticleId>, why: &str) {
        for id in ids {
            if !self.files.contains_key(&id) {
                self.unknown.entry(id).or_insert_with(|| why.to_owned());
            }
        }
    }
}

/// Pairs a scanned mirror with the base and with what the service lists.
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
    creations::report_waiting(base, &mut paired);
    mark_unproven(base, local, &folders, &mut paired);
    paired
}

const NOT_READY: &str = "its file is not ready";

/// The articles of which something lies in the mirror that is no ready article: at the article's place in the state, or
/// anywhere with the article's id in it.
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

/// Gives each file its folder's category. In a folder without a category, the article that a file names becomes
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

/// Gives files without an id the articles whose places in the state they have.
fn claim_by_place(
    base: &Base,
    local: &LocalSnapshot,
    places: &StatePlaces<'_>,
    files: Vec<LocalFile>,
    paired: &mut Paired,
) -> Vec<LocalFile> {
    let mut left = files;
    // A renamed folder takes its files along. A file in a new folder with the old name is another file.
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

/// Gives a file that names no article one by its place or address. While something else in the mirror cannot
/// be read that may be the article's own file, moved there by its writer, and then this one's words were never
/// meant for the article.
fn claim(id: ArticleId, file: LocalFile, base: &Base, local: &LocalSnapshot, paired: &mut Paired) {
    let edited = base
        .articles
        .get(&id)
        .is_some_and(|row| !row.local.same_words(&file.version));
    match local.unread.first().filter(|_| edited) {
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

/// Gives files without an id the articles that have their category and slug and that nothing else claims.
///
/// An article that moved to the address since the last agreement is not claimed: the writer of the file never saw its
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
        // What is being created from a file is not the article whose address its writer has given it since.
        let mut creations = base.creations.iter();
        let is_created = creations.any(|creation| creations::is_at(creation, &file));
        let found = by_slug.get(&address(&file.version)).copied();
        match found.filter(|id| !is_created && paired.is_free(*id)) {
            Some(id) => claim(id, file, base, local, paired),
            None => paired.fresh.push(file),
        }
    }
}

fn address(version: &Version) -> (CategoryId, &str) {
    (version.category, &version.slug)
}

/// Marks the articles of which absence is not proven.
fn mark_unproven(
    base: &Base,
    local: &LocalSnapshot,
    folders: &BTreeMap<&str, CategoryId>,
    paired: &mut Paired,
) {
    // Several folders claim such a category, or a folder of another workspace lies there: a file that has no id may lie
    // in any of them.
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
