//! New files that say what an article without a file says: created, they might be there twice.
//!
//! Title and text have to be equal. Nothing else compares words to find out which article a file is.

use super::Paired;
use crate::model::{ArticleId, TextDigest, Version};
use crate::reconcile::plan::Problem;
use crate::reconcile::snapshot::{Base, LocalFile, Remote, RemoteSnapshot};
use std::collections::{BTreeSet, HashMap};

/// Why an article is left alone whose file may be one without an id.
const SAME_WORDS: &str = "a file without an id has its title and text";

/// Holds new files with the title and the text of an article that has no file, and such articles.
pub(super) fn hold_same_words(base: &Base, remote: &RemoteSnapshot, paired: &mut Paired) {
    if paired.fresh.is_empty() {
        return;
    }
    let articles_without_file = articles_without_file(base, remote, paired);
    for file in std::mem::take(&mut paired.fresh) {
        let Some(ids) = articles_without_file.get(&words(&file.version)) else {
            paired.fresh.push(file);
            continue;
        };
        let problems = ids.iter().map(|id| same_words(&file, *id, base));
        paired.problems.extend(problems);
        paired.mark_unknown(ids.iter().copied(), SAME_WORDS);
    }
}

/// The articles that have no file, by title and text: those of the base, as their files were, and those that only the
/// service has. One that is gone from the service cannot be there twice.
fn articles_without_file<'a>(
    base: &'a Base,
    remote: &'a RemoteSnapshot,
    paired: &Paired,
) -> HashMap<(&'a str, TextDigest), BTreeSet<ArticleId>> {
    let gone = |id: &ArticleId| remote.articles.get(id) == Some(&Remote::Gone);
    let rows = base.articles.values().map(|row| (row.id, &row.local));
    let known = rows.filter(|(id, _)| !gone(id));
    let listed = remote
        .articles
        .iter()
        .filter_map(|(id, entry)| match entry {
            Remote::Present(seen) if !base.articles.contains_key(id) => Some((*id, &seen.version)),
            Remote::Present(_) | Remote::Gone | Remote::NotVisible(_) | Remote::Unknown(_) => None,
        });
    let mut articles_without_file: HashMap<_, BTreeSet<_>> = HashMap::new();
    for (id, version) in known.chain(listed) {
        if !paired.files.contains_key(&id) {
            articles_without_file
                .entry(words(version))
                .or_default()
                .insert(id);
        }
    }
    articles_without_file
}

fn words(version: &Version) -> (&str, TextDigest) {
    (&version.title, version.text)
}

fn same_words(file: &LocalFile, id: ArticleId, base: &Base) -> Problem {
    let was = base
        .articles
        .get(&id)
        .map(|row| format!(" from {}", row.place));
    let message = format!(
        "kbsync cannot tell whether this file is article {id}{} or a new article: it has the same title and text. If \
         it is {id}, add `id: {id}` to it. If it is new, change its title.",
        was.unwrap_or_default()
    );
    Problem::at(&file.place, Some(id), message)
}
