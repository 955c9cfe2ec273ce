//! The id in a file: of two files with one id the one at the place in the state keeps it.

use super::creations::is_at;
use super::places::StatePlaces;
use super::{NOT_READY, Paired};
use crate::model::ArticleId;
use crate::reconcile::snapshot::{Base, LocalFile, Remote, RemoteSnapshot};
use std::collections::{BTreeMap, BTreeSet};

/// Gives files the articles that they name. Gives the files that are left.
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
        // The report does not depend on the order of the scan.
        claimants.sort_by(|one, other| one.place.cmp(&other.place));
        let at_home = places.home(id, &claimants);
        // A file that is not ready may be the article's, and the ready one a copy of it.
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
    for (of, copy) in copies {
        let over = places.owner_of(&copy).filter(|over| *over != of);
        let lost = |over: &ArticleId| !paired.files.contains_key(over);
        match over.filter(lost) {
            Some(over) => report_replaced(over, of, &copy, paired),
            None => left.push(LocalFile { id: None, ..copy }),
        }
    }
    left.sort_by(|one, other| one.place.cmp(&other.place));
    left
}

/// The only file that names an article, of those that do not lie where a copy becomes an article of its own.
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

/// Marks two articles as unknown: the file at the place of one has the id of the other, which the state does not know, as
/// a file from another mirror has. An article that is gone from the service has nothing left to lose.
pub(super) fn mark_both_unknown(
    base: &Base,
    places: &StatePlaces<'_>,
    remote: &RemoteSnapshot,
    paired: &mut Paired,
) {
    let named = |file: &&LocalFile| {
        let id = file.id.as_ref();
        id.is_some_and(|id| !base.articles.contains_key(id))
    };
    let owner = |file: &LocalFile| places.owner_of(file).map(|owner| (owner, file.clone()));
    let over: Vec<_> = paired
        .files
        .values()
        .filter(named)
        .filter_map(owner)
        .collect();
    for (other, file) in over {
        let Some(id) = file.id.filter(|_| paired.is_free(other)) else {
            continue;
        };
        if remote.articles.get(&other) == Some(&Remote::Gone) {
            continue;
        }
        report_replaced(other, id, &file, paired);
        paired.files.remove(&id);
        paired.doubt(id, "another article's file has its id");
    }
}

/// Reports files that name an article, of which none can be said to be its file: several, none of them where the article
/// was, or one that lies where another article is being created from a copy.
fn report_unclaimed(id: ArticleId, claimants: &[LocalFile], paired: &mut Paired) {
    let names: Vec<_> = claimants
        .iter()
        .map(|file| file.place.to_string())
        .collect();
    let names = names.join(" or ");
    for file in claimants {
        let message = format!(
            "kbsync cannot tell whether {names} is the file of article {id}: remove the `id:` line from each that is a new \
             article, or move the article's own file to another name"
        );
        paired.report(&file.place, Some(id), message);
    }
    paired.doubt(id, "kbsync cannot tell which file is its own");
}

/// Reports the file of an article that has the id of another one now.
fn report_replaced(of: ArticleId, by: ArticleId, file: &LocalFile, paired: &mut Paired) {
    let message = format!(
        "the file of article {of} now has the id {by}. If that is a mistake, put `id: {of}` back. If not, move the file to \
         another name (without its `id:` line if it is a new article); then {of} is deleted, unless its own file is put back"
    );
    paired.report(&file.place, Some(of), message);
    paired.doubt(of, "its file has another article's id");
}
