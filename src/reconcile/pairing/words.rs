//! Articles whose id may never have come into their file, and whose file was moved before: their words tell.

use super::{NOT_READY, Paired, StatePlaces, Unready, is_unread};
use crate::model::TextDigest;
use crate::reconcile::plan::Problem;
use crate::reconcile::snapshot::{Base, LocalFile};

/// Why an article is left alone whose file may be another one.
pub(super) const DOUBTFUL: &str = "whether a file without an id is its file cannot be told";

/// Gives files without an id the articles that say the same, and whose file is not where it was: nobody has read
/// the id in it yet, so it may never have been written, and the file was moved before. One that was edited as
/// well has its text still, and a place where no article was, while nothing lies at the article's own.
pub(super) fn claim_by_words(
    base: &Base,
    places: &StatePlaces<'_>,
    unready: &Unready,
    mut files: Vec<LocalFile>,
    paired: &mut Paired,
) -> Vec<LocalFile> {
    let rows = base.articles.values();
    for row in rows.filter(|row| is_unread(row)) {
        let same = |file: &LocalFile| row.local.same_words(&file.version);
        let home = |file: &LocalFile| same(file) && places.owner_of(file) == Some(row.id);
        if !paired.is_free(row.id) || unready.named.contains(&row.id) || files.iter().any(home) {
            continue;
        }
        let lies = |file: &LocalFile| places.owner_of(file) == Some(row.id);
        let taken = unready.at_home.contains(&row.id) || files.iter().any(lies);
        let text = row.local.text;
        let edited = |file: &LocalFile| {
            let kept = text != TextDigest::of("") && file.version.text == text;
            kept && !taken && places.owner_of(file).is_none()
        };
        let found = files.iter().position(same);
        let Some(position) = found.or_else(|| files.iter().position(edited)) else {
            continue;
        };
        let file = files.remove(position);
        // What lies at its own place may be the file of the one whose place it has taken.
        if unready.at_home.contains(&row.id) {
            let other = places.owner_of(&file);
            paired.mark(other, NOT_READY);
        }
        paired.files.insert(row.id, file);
    }
    files
}

/// Holds the articles whose file may have been moved and edited so much that only its title is left, and such files:
/// as a new article it would be there twice, and the other one be deleted. Gives the files that are left, and those
/// that are held.
pub(super) fn hold_doubtful(
    base: &Base,
    places: &StatePlaces<'_>,
    unready: &Unready,
    files: Vec<LocalFile>,
    paired: &mut Paired,
) -> (Vec<LocalFile>, Vec<LocalFile>) {
    let lies = |id| files.iter().any(|file| places.owner_of(file) == Some(id));
    let missing: Vec<_> = base
        .articles
        .values()
        .filter(|row| is_unread(row) && !row.local.title.is_empty() && paired.is_free(row.id))
        .filter(|row| !unready.named.contains(&row.id) && !unready.at_home.contains(&row.id))
        .filter(|row| !lies(row.id))
        .collect();
    if missing.is_empty() {
        return (files, Vec::new());
    }
    let (mut left, mut held) = (Vec::new(), Vec::new());
    for file in files {
        let owner = places.owner_of(&file);
        let home = owner.and_then(|owner| base.articles.get(&owner));
        let title = &file.version.title;
        // The title is that of the article at this place, too.
        let known = home.is_some_and(|row| row.local.title == *title);
        let same = missing.iter().filter(|row| row.local.title == *title);
        let mut maybe = same.filter(|_| !known).peekable();
        if maybe.peek().is_none() {
            left.push(file);
            continue;
        }
        for row in maybe {
            paired.problems.push(Problem {
                path: file.place.to_string(),
                id: Some(row.id),
                message: format!(
                    "it has no `id:` line, and whether it is the file of article {}, which lay at {} and has the \
                     same title, cannot be told; put `id: {}` into it, or give it another title if it is not",
                    row.id, row.place, row.id
                ),
            });
            paired.mark([row.id], DOUBTFUL);
        }
        paired.mark(owner, DOUBTFUL);
        held.push(file);
    }
    (left, held)
}
