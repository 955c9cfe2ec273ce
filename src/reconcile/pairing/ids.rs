//! The id in a file: of two files with one id the one at the place in the state keeps it.

use super::creations::is_at;
use super::places::{StatePlaces, Unready};
use super::{NOT_READY, Paired};
use crate::model::ArticleId;
use crate::model::base::Creation;
use crate::reconcile::snapshot::{Base, LocalFile, Remote, RemoteSnapshot};
use std::collections::BTreeMap;

/// Gives files the articles that they name. Gives the files that are left.
pub(super) fn claim_by_id(
    base: &Base,
    places: &StatePlaces<'_>,
    unready: &Unready,
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
        if at_home.is_none() && (unready.at_home.contains(&id) || unready.named.contains(&id)) {
            paired.doubt(id, NOT_READY);
            continue;
        }
        let keeper = at_home.or_else(|| only_claimant(base, &claimants));
        let Some(keeper) = keeper else {
            report_unclaimed(base, id, &claimants, paired);
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
            Some(over) => report_overwritten(of, over, &copy, paired),
            None => left.push(LocalFile { id: None, ..copy }),
        }
    }
    left.sort_by(|one, other| one.place.cmp(&other.place));
    left
}

/// The only file that names an article, of those that do not lie where a copy becomes an article of its own.
fn only_claimant(base: &Base, claimants: &[LocalFile]) -> Option<usize> {
    let is_own = |file: &LocalFile| creation_at(base, file).is_none();
    let mut own = claimants
        .iter()
        .enumerate()
        .filter(|(_, file)| is_own(file));
    let (keeper, _) = own.next()?;
    own.next().is_none().then_some(keeper)
}

/// The article that is being created from the place of a file which has another article's id.
fn creation_at<'b>(base: &'b Base, file: &LocalFile) -> Option<&'b Creation> {
    let known = file.id.is_some_and(|id| base.articles.contains_key(&id));
    let mut creations = base.creations.iter().filter(|_| known);
    creations.find(|creation| is_at(creation, file))
}

/// Reports files that name an article, of which none can be said to be its file.
fn report_unclaimed(base: &Base, id: ArticleId, claimants: &[LocalFile], paired: &mut Paired) {
    match claimants {
        [only] if let Some(creation) = creation_at(base, only) => {
            report_unclear(id, creation, only, paired);
        }
        several => report_double(id, several, paired),
    }
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
        let other_way = if matches!(remote.articles.get(&id), Some(Remote::Present(_))) {
            format!("If the file is {id}, move it to another name")
        } else {
            format!(
                "The service does not show {id}: if the file is a new article, move it to another name without its `id:` line"
            )
        };
        let message = format!(
            "the file of article {other} now has the id {id}. If that is a mistake, put `id: {other}` back. \
             {other_way}; then {other} is deleted, unless its own file is put back"
        );
        paired.report(&file.place, Some(other), message);
        paired.files.remove(&id);
        paired.doubt(id, "another article's file has its id");
        paired.doubt(other, "its file has another id");
    }
}

/// Reports a file that names one article and lies where another one is being created: it may be the copy that becomes
/// that one, or the first one's file, moved over the copy.
fn report_unclear(id: ArticleId, creation: &Creation, file: &LocalFile, paired: &mut Paired) {
    let made = creation.row.as_ref().map(|row| row.id);
    let message = format!(
        "kbsync cannot tell whether this file is article {id} or the new article that is being created from {}. If it \
         is the new one, remove its `id:` line. If it is {id}, move it to another name.",
        file.place
    );
    paired.report(&file.place, made.or(Some(id)), message);
    paired.doubt(id, "kbsync cannot tell which article its file is");
}

fn report_double(id: ArticleId, claimants: &[LocalFile], paired: &mut Paired) {
    let names: Vec<_> = claimants
        .iter()
        .map(|file| file.place.to_string())
        .collect();
    let names = names.join(" and ");
    for file in claimants {
        let message = format!(
            "the same id stands in {names}, and neither is where the article was; remove the `id:` line \
             from all but one"
        );
        paired.report(&file.place, Some(id), message);
    }
    paired.doubt(id, "two files have its id");
}

fn report_overwritten(id: ArticleId, other: ArticleId, copy: &LocalFile, paired: &mut Paired) {
    let message = format!(
        "the file of article {other} now has the id of article {id}, which has a file of its own; \
         put `id: {other}` back, or remove the file to delete that article"
    );
    paired.report(&copy.place, Some(other), message);
    paired.doubt(other, "its file has another article's id");
}
