//! Articles whose id may never have come into their file, and whose file was moved before: their words tell.

use super::places::{StatePlaces, Unready};
use super::{NOT_READY, Paired, is_unread};
use crate::model::ArticleId;
use crate::model::base::ArticleRow;
use crate::reconcile::plan::Problem;
use crate::reconcile::snapshot::{Base, LocalFile, LocalSnapshot};
use std::collections::BTreeSet;

/// Why an article is left alone whose file may be another one.
pub(super) const DOUBTFUL: &str = "whether a file without an id is its file cannot be told";

/// Gives files without an id the articles that say the same, and whose file is not where it was: nobody has read
/// the id in it yet, so it may never have been written, and the file was moved before. One that was edited as
/// well has its text still, if that tells whose it is, and a place where no article was or whose article's file
/// lies elsewhere, while nothing lies at the article's own. `over`: articles at whose place a copy of another one lies.
pub(super) fn claim_by_words(
    base: &Base,
    local: &LocalSnapshot,
    places: &StatePlaces<'_>,
    unready: &Unready,
    over: &BTreeSet<ArticleId>,
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
        let taken =
            unready.at_home.contains(&row.id) || over.contains(&row.id) || files.iter().any(lies);
        let text = row.local.text;
        // Or one where its article's file is not, which lies elsewhere.
        let vacant = |file: &LocalFile| {
            let owner = places.owner_of(file);
            owner.is_none_or(|owner| paired.files.contains_key(&owner))
        };
        let edited = |file: &LocalFile| {
            let kept = local.telling.contains(&text) && file.version.text == text;
            kept && !taken && vacant(file)
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

/// Holds the articles whose file may have been moved and edited so much that only its title or a part of its words is
/// left, and such files: as a new article it would be there twice, and the other one be deleted. Gives the files that
/// are left, and those that are held.
pub(super) fn hold_doubtful(
    base: &Base,
    local: &LocalSnapshot,
    places: &StatePlaces<'_>,
    unready: &Unready,
    files: Vec<LocalFile>,
    paired: &mut Paired,
) -> (Vec<LocalFile>, Vec<LocalFile>) {
    let missing: Vec<_> = base
        .articles
        .values()
        .filter(|row| is_unread(row) && paired.is_free(row.id))
        .filter(|row| !unready.named.contains(&row.id))
        .collect();
    if missing.is_empty() {
        return (files, Vec::new());
    }
    let akin = |row: &ArticleRow, file: &LocalFile| {
        let pair = (row.local.text, file.version.text);
        local.akin.contains(&pair)
    };
    let lies = |row: &ArticleRow, file: &LocalFile| places.owner_of(file) == Some(row.id);
    // A title alone says nothing of the article while something is at its place that is not ready.
    let title_lost = |row: &ArticleRow| {
        let titled = !row.local.title.is_empty() && !unready.at_home.contains(&row.id);
        titled && !files.iter().any(|file| lies(row, file))
    };
    let words_lost = |row: &ArticleRow| {
        let mut files = files.iter();
        !files.any(|file| lies(row, file) && akin(row, file))
    };
    let mut doubts = Vec::new();
    for file in &files {
        let owner = places.owner_of(file);
        let home = owner.and_then(|owner| base.articles.get(&owner));
        let title = &file.version.title;
        // The title is that of the article at this place, too.
        let known = home.is_some_and(|row| row.local.title == *title);
        let titled = |row: &ArticleRow| !known && row.local.title == *title && title_lost(row);
        let worded = |row: &ArticleRow| !lies(row, file) && akin(row, file) && words_lost(row);
        let maybe = missing.iter().filter(|row| titled(row) || worded(row));
        doubts.push(maybe.copied().collect::<Vec<_>>());
    }
    // What lies at the place of an article that is in doubt is none of its own either: it may be that one's file.
    let doubted: BTreeSet<_> = doubts.iter().flatten().map(|row| row.id).collect();
    let (mut left, mut held) = (Vec::new(), Vec::new());
    for (file, maybe) in files.into_iter().zip(doubts) {
        let at_home = places.owner_of(&file).filter(|id| doubted.contains(id));
        if let (true, Some(id)) = (maybe.is_empty(), at_home) {
            paired.problems.push(doubtful_home(&file, id));
            held.push(file);
            continue;
        }
        if maybe.is_empty() {
            left.push(file);
            continue;
        }
        for row in maybe {
            paired.problems.push(doubtful(&file, row));
            paired.mark([row.id], DOUBTFUL);
        }
        paired.mark(places.owner_of(&file), DOUBTFUL);
        held.push(file);
    }
    (left, held)
}

fn doubtful_home(file: &LocalFile, id: ArticleId) -> Problem {
    Problem {
        path: file.place.to_string(),
        id: Some(id),
        message: format!(
            "it has no `id:` line and lies where article {id} was, and whether it or another file is that \
             article's cannot be told; put `id: {id}` into the one that is"
        ),
    }
}

fn doubtful(file: &LocalFile, row: &ArticleRow) -> Problem {
    let (same, other) = if file.version.title == row.local.title {
        ("the same title", "give it another title")
    } else {
        ("words that no other article has", "put that file back")
    };
    Problem {
        path: file.place.to_string(),
        id: Some(row.id),
        message: format!(
            "it has no `id:` line, and whether it is the file of article {}, which lay at {} and has {same}, \
             cannot be told; put `id: {}` into it, or {other} if it is not",
            row.id, row.place, row.id
        ),
    }
}
