//! The id in a file: of two files with one id the one at the place in the state keeps it.

use super::places::{StatePlaces, Unready};
use super::{NOT_READY, Paired, is_unread};
use crate::drill::defect::{self, Defect};
use crate::model::ArticleId;
use crate::model::base::ArticleRow;
use crate::reconcile::plan::Problem;
use crate::reconcile::snapshot::{Base, LocalFile, Remote, RemoteSnapshot};
use std::collections::BTreeMap;

/// A copy of an article's file that lies where another article's was.
pub(super) struct Copied {
    of: ArticleId,
    pub(super) over: ArticleId,
    file: LocalFile,
}

/// Gives files the articles that they name. Gives the files that are left, and copies over other articles' files.
pub(super) fn claim_by_id(
    base: &Base,
    places: &StatePlaces<'_>,
    unready: &Unready,
    files: Vec<LocalFile>,
    paired: &mut Paired,
) -> (Vec<LocalFile>, Vec<Copied>) {
    let mut by_id: BTreeMap<ArticleId, Vec<LocalFile>> = BTreeMap::new();
    let (mut left, mut copies) = (Vec::new(), Vec::new());
    for file in files {
        match file.id {
            Some(id) => by_id.entry(id).or_default().push(file),
            None => left.push(file),
        }
    }
    for (id, mut claimants) in by_id {
        // However the mirror was walked, the same is said of it.
        claimants.sort_by(|one, other| one.place.cmp(&other.place));
        let at_home = places.home(id, &claimants);
        // A file that is not ready may be the article's, and the ready one a copy of it.
        if at_home.is_none() && (unready.at_home.contains(&id) || unready.named.contains(&id)) {
            paired.unknown.insert(id, NOT_READY.to_owned());
            continue;
        }
        let keeper = if defect::is(Defect::CopyTakesOver) {
            Some(claimants.len() - 1)
        } else if defect::is(Defect::RenameIsDeletion) {
            at_home
        } else {
            at_home.or_else(|| (claimants.len() == 1).then_some(0))
        };
        let Some(keeper) = keeper else {
            report_double(id, &claimants, paired);
            continue;
        };
        let file = claimants.swap_remove(keeper);
        paired.files.insert(id, file);
        for mut copy in claimants {
            let over = places.owner_of(&copy).filter(|other| *other != id);
            let row = over.and_then(|other| base.articles.get(&other));
            if let Some(row) = row.filter(|row| !is_newborn(row, &copy)) {
                copies.push(Copied {
                    of: id,
                    over: row.id,
                    file: copy,
                });
            } else {
                copy.id = None;
                left.push(copy);
            }
        }
    }
    left.sort_by(|one, other| one.place.cmp(&other.place));
    (left, copies)
}

/// A copy over another article's file: whether that one was meant to go is for a person to say, unless that file was
/// moved before its id was in it, and is found by its words.
pub(super) fn settle_copies(copies: Vec<Copied>, left: &mut Vec<LocalFile>, paired: &mut Paired) {
    for Copied { of, over, mut file } in copies {
        if paired.files.contains_key(&over) {
            file.id = None;
            left.push(file);
        } else {
            report_overwritten(of, over, &file, paired);
        }
    }
    left.sort_by(|one, other| one.place.cmp(&other.place));
}

/// Articles whose file names one that the state knows nothing of, as a file does that was copied over from another
/// mirror: nobody took the file away, and whether the article is to go is for a person to say.
/// One that is gone from the service has nothing left to lose.
pub(super) fn hold_renamed(
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
        let message = match remote.articles.get(&id) {
            Some(Remote::Present(_)) => format!(
                "the file of article {other} now has the id of article {id}, which had no file here; put `id: {other}` \
                 back, or move the file to another name: then it is that of {id}, and {other} is deleted unless its \
                 own file is put back"
            ),
            Some(Remote::Gone | Remote::NotVisible(_) | Remote::Unknown(_)) | None => format!(
                "the file of article {other} now has the id {id}, of which nothing is known here; put `id: {other}` \
                 back, or remove the file to delete that article"
            ),
        };
        paired.problems.push(Problem {
            path: file.place.to_string(),
            id: Some(other),
            message,
        });
        paired.unknown.insert(other, OVERLAID.to_owned());
    }
}

/// The article at whose place a file lies that names one of which nothing is known: nobody took its own file away.
pub(crate) fn overlaid<'b>(
    base: &'b Base,
    paired: &Paired,
    id: ArticleId,
) -> Option<&'b ArticleRow> {
    let file = paired
        .files
        .get(&id)
        .filter(|_| !base.articles.contains_key(&id))?;
    let mut others = paired.unknown.iter().filter(|(_, why)| *why == OVERLAID);
    others.find_map(|(other, _)| {
        let row = base.articles.get(other)?;
        let along =
            (row.local.category, &row.place.file) == (file.version.category, &file.place.file);
        (row.place == file.place || along).then_some(row)
    })
}

/// Why an article is left alone whose file names another one.
const OVERLAID: &str = "its file has another id";

/// Returns whether a copy became this article, and nobody has written its id into the file yet.
fn is_newborn(row: &ArticleRow, copy: &LocalFile) -> bool {
    is_unread(row) && row.local.digest() == copy.version.digest()
}

fn report_double(id: ArticleId, claimants: &[LocalFile], paired: &mut Paired) {
    let names: Vec<_> = claimants
        .iter()
        .map(|file| file.place.to_string())
        .collect();
    for file in claimants {
        paired.problems.push(Problem {
            path: file.place.to_string(),
            id: Some(id),
            message: format!(
                "the same id stands in {}, and neither is where the article was; remove the `id:` line \
                 from all but one",
                names.join(" and ")
            ),
        });
    }
    paired
        .unknown
        .insert(id, "two files have its id".to_owned());
}

fn report_overwritten(id: ArticleId, other: ArticleId, copy: &LocalFile, paired: &mut Paired) {
    paired.problems.push(Problem {
        path: copy.place.to_string(),
        id: Some(other),
        message: format!(
            "the file of article {other} now has the id of article {id}, which has a file of its own; \
             put `id: {other}` back, or remove the file to delete that article"
        ),
    });
    paired
        .unknown
        .insert(other, "its file has another article's id".to_owned());
}
