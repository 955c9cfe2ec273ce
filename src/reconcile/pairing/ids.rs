//! Pairs files by their ids, and knows the places of articles at the last agreement: of two files with one id, the file
//! at the place in the state keeps the id.

use super::creations::is_at;
use super::folders;
use super::{NOT_READY, Paired};
use crate::model::base::ArticleRow;
use crate::model::{ArticleId, CategoryId, Place};
use crate::reconcile::snapshot::{Base, LocalFile, Remote, RemoteSnapshot};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Pairs files with the articles of their ids. Returns the other files.
pub(super) fn claim_by_id(
    base: &Base,
    places: &StatePlaces<'_>,
    unready: &BTreeSet<ArticleId>,
    files: Vec<LocalFile>,
    paired: &mut Paired,
) -> Vec<LocalFile> {
    let mut by_id: BTreeMap<ArticleId, Vec<LocalFile>> = BTreeMap::new();
    let (mut left, mut copies) = (Vec::new(), Vec::new());
    for file in files {
        match file.id {
            Some(id) => by_id.entry(id).or_default().push(file),
            None => left.push(file),
        }
    }
    for (id, mut claimants) in by_id {
        // Sorted, so that the report does not depend on the order of the scan.
        claimants.sort_by(|one, other| one.place.cmp(&other.place));
        let at_home = places.home(id, &claimants);
        // A file that is not ready may be the article's, and the ready file a copy of it.
        if at_home.is_none() && unready.contains(&id) {
            paired.doubt(id, NOT_READY);
            continue;
        }
        let Some(keeper) = at_home.or_else(|| only_claimant(base, &claimants)) else {
            report_unclaimed(id, &claimants, paired);
            continue;
        };
        let file = claimants.swap_remove(keeper);
        paired.files.insert(id, file);
        copies.extend(claimants.into_iter().map(|copy| (id, copy)));
    }
    for (named, copy) in copies {
        let owner = places.owner_of(&copy).filter(|owner| *owner != named);
        let lost = |owner: &ArticleId| !paired.files.contains_key(owner);
        match owner.filter(lost) {
            Some(owner) => report_replaced(owner, named, &copy, paired),
            None => left.push(LocalFile { id: None, ..copy }),
        }
    }
    left.sort_by(|one, other| one.place.cmp(&other.place));
    left
}

/// Returns the only file with an article's id. Files at the place of a pending creation do not count: a copy becomes an
/// article of its own there.
fn only_claimant(base: &Base, claimants: &[LocalFile]) -> Option<usize> {
    let is_created = |file: &LocalFile| {
        let known = file.id.is_some_and(|id| base.articles.contains_key(&id));
        known && base.creations.iter().any(|one| is_at(one, file))
    };
    let claimants = claimants.iter().enumerate();
    let mut own = claimants.filter(|(_, file)| !is_created(file));
    let (keeper, _) = own.next()?;
    own.next().is_none().then_some(keeper)
}

/// Marks two articles as unknown: the file at the place of one has the id of the other, and the state does not know
/// that id, as with a file from another mirror. An article that is gone from the service has nothing left to lose.
pub(super) fn mark_both_unknown(
    base: &Base,
    places: &StatePlaces<'_>,
    remote: &RemoteSnapshot,
    paired: &mut Paired,
) {
    let files = paired.files.values();
    let owned = files.filter_map(|file| Some((file.id?, places.owner_of(file)?, file)));
    let owned = owned.filter(|(named, ..)| !base.articles.contains_key(named));
    let owned: Vec<_> = owned
        .map(|(named, owner, file)| (named, owner, file.clone()))
        .collect();
    for (named, owner, file) in owned {
        if paired.is_free(owner) && remote.articles.get(&owner) != Some(&Remote::Gone) {
            report_replaced(owner, named, &file, paired);
            paired.files.remove(&named);
            paired.doubt(named, "another article's file has its id");
        }
    }
}

/// Reports files with an article's id if none of them is certain to be the article's: there are several files and none
/// is at the article's place, or the only file is at the place of a pending creation.
fn report_unclaimed(id: ArticleId, claimants: &[LocalFile], paired: &mut Paired) {
    let names: Vec<_> = claimants
        .iter()
        .map(|file| file.place.to_string())
        .collect();
    let names = names.join(" or ");
    let remedy = match claimants {
        [_] => {
            "remove the `id:` line if it is a new article, or move it to another name if it is the article's own"
        }
        _ => "remove the `id:` line from all but the article's own",
    };
    for file in claimants {
        let message =
            format!("kbsync cannot tell whether {names} is the file of article {id}: {remedy}");
        paired.report(&file.place, Some(id), message);
    }
    paired.doubt(id, "kbsync cannot tell which file is its own");
}

/// Reports the file of an article, its owner, that now names another article.
fn report_replaced(owner: ArticleId, named: ArticleId, file: &LocalFile, paired: &mut Paired) {
    let message = format!(
        "the file of article {owner} now has the id {named}. If that is a mistake, put `id: {owner}` back. If not, move \
         the file to another name (without its `id:` line if it is a new article); then article {owner} is deleted, \
         unless you restore its own file"
    );
    paired.report(&file.place, Some(owner), message);
    paired.doubt(owner, "its file has another article's id");
}

/// The places in the state, as a category and a file's name rather than a folder's. If a folder no longer belongs to
/// its category, the place itself counts.
pub(super) struct StatePlaces<'a> {
    by_category: HashMap<(CategoryId, &'a str), ArticleId>,
    /// The categories of the folders in the state.
    categories: BTreeMap<&'a str, CategoryId>,
    exact: HashMap<&'a Place, ArticleId>,
    base: &'a Base,
}

impl<'a> StatePlaces<'a> {
    pub(super) fn of(base: &'a Base) -> Self {
        let categories = folders::of_rows(base);
        let rows = base.articles.values();
        let category = |row: &ArticleRow| categories.get(row.place.folder.as_str()).copied();
        let known = rows.clone();
        let known =
            known.filter_map(|row| Some(((category(row)?, row.place.file.as_str()), row.id)));
        // The folder has been renamed since, and the file could not be read then: the file moved with its folder.
        let renamed = rows.clone().filter(|row| category(row).is_none());
        let renamed = renamed.map(|row| ((row.local.category, row.place.file.as_str()), row.id));
        let by_category = renamed.chain(known).collect();
        Self {
            by_category,
            categories,
            exact: rows.map(|row| (&row.place, row.id)).collect(),
            base,
        }
    }

    /// Returns the article that had this place at the last agreement.
    pub(super) fn owner(&self, category: Option<CategoryId>, place: &Place) -> Option<ArticleId> {
        category
            .and_then(|id| self.by_category.get(&(id, place.file.as_str())))
            .or_else(|| self.exact.get(place))
            .copied()
    }

    /// Returns the index of the file at the article's recorded place. Another article may have had this place, too: its
    /// file was moved away, and the two sides have not agreed on the move yet.
    pub(super) fn home(&self, id: ArticleId, files: &[LocalFile]) -> Option<usize> {
        let row = self.base.articles.get(&id)?;
        let folder = row.place.folder.as_str();
        let category = self.categories.get(folder).copied();
        let category = category.unwrap_or(row.local.category);
        let along = |file: &LocalFile| {
            file.version.category == category && file.place.file == row.place.file
        };
        // A renamed folder took its files along: a file in a new folder of the old name is a copy.
        let found = files.iter().position(along);
        let owned = |file: &LocalFile| self.owner_of(file) == Some(id);
        found.or_else(|| files.iter().position(owned))
    }

    /// Returns the article of a file by its folder's category, wherever the folder is now.
    pub(super) fn owner_along(&self, file: &LocalFile) -> Option<ArticleId> {
        let place = (file.version.category, file.place.file.as_str());
        self.by_category.get(&place).copied()
    }

    pub(super) fn owner_of(&self, file: &LocalFile) -> Option<ArticleId> {
        self.owner(Some(file.version.category), &file.place)
    }
}
