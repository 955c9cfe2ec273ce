//! Holds new files that have the content of an article without a file: creating an article from such a file might
//! duplicate the article.
//!
//! Only equal titles and equal texts count, and this is the only comparison of contents in the pairing. The articles
//! are those of the base, those that only the service has, and those of pending creations: the service may or may not
//! have an article of a pending creation, and if no answer shows it, only its file tells. Therefore a file is also held
//! if the service shows an article at its address whose content was not sent. While that file cannot be read, a new
//! article with the sent title and text waits for it.

use super::Paired;
use crate::model::base::Creation;
use crate::model::path::quoted;
use crate::model::{ArticleId, CategoryId, TextDigest, Version};
use crate::reconcile::plan::Problem;
use crate::reconcile::snapshot::{Base, LocalFile, LocalSnapshot, Remote, RemoteSnapshot};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Holds files that may belong to pending creations without a file at their place. Returns the other files, and the
/// articles that become unknown.
pub(super) fn hold_moved(
    base: &Base,
    local: &LocalSnapshot,
    folders: &BTreeMap<&str, CategoryId>,
    files: Vec<LocalFile>,
    paired: &mut Paired,
) -> (Vec<LocalFile>, Vec<ArticleId>) {
    let is_empty = |creation: &&Creation| {
        let mut unknown = local.unknown.iter().map(|unknown| &unknown.place);
        let lies = unknown.any(|place| {
            let category = folders.get(place.folder.as_str());
            category.is_some_and(|category| creation.is_at(*category, &place.file))
        });
        !lies && !files.iter().any(|file| is_at(creation, file))
    };
    let creations: Vec<_> = base.creations.iter().filter(is_empty).collect();
    let mut left = Vec::with_capacity(files.len());
    let mut unknown = Vec::new();
    for file in files {
        let mut sent = creations.iter();
        let moved = sent.find(|creation| may_be_of(creation, &file, base));
        let problem = moved.map(|creation| moved_problem(&file, creation));
        let Some(problem) = problem.or_else(|| unclear_at(base, &file)) else {
            left.push(file);
            continue;
        };
        let made = problem.id;
        paired.problems.push(problem);
        let places = base.articles.values();
        let owner = places
            .filter(|row| row.place == file.place)
            .map(|row| row.id);
        unknown.extend(owner.chain(file.id).chain(made));
    }
    (left, unknown)
}

/// Returns whether a file has the title and text of a try, and has no id, or an id whose article has other words.
pub(crate) fn may_be_of(creation: &Creation, file: &LocalFile, base: &Base) -> bool {
    let is_new = file.id.is_none_or(|id| {
        let row = base.articles.get(&id);
        row.is_some_and(|row| !row.local.same_words(&file.version))
    });
    is_new && creation.was_sent(&file.version)
}

/// Returns the problem of a file for which it is unknown whether the article at its address was created from it.
fn unclear_at(base: &Base, file: &LocalFile) -> Option<Problem> {
    let mut creations = base.creations.iter();
    let id = creations.find(|creation| is_at(creation, file))?.unclear?;
    if file.id == Some(id) {
        return None;
    }
    let named = file.id.map_or(String::new(), |named| {
        format!(" If it is the file of article {named}, move it to another name.")
    });
    let message = format!(
        "article {id} has the address of this file but different content: kbsync sent the file, got no answer, and cannot \
         tell whether that request created the article. If it did, the file needs the line `id: {id}`. If it did not, give \
         the file another name, title and slug.{named}"
    );
    Some(Problem::at(&file.place, Some(id), message))
}

/// Returns whether a file is at the place of a pending creation.
pub(super) fn is_at(creation: &Creation, file: &LocalFile) -> bool {
    creation.is_at(file.version.category, &file.place.file)
}

/// Reports the articles of pending creations that have no other report and no file.
pub(super) fn report_waiting(base: &Base, paired: &mut Paired) {
    for creation in &base.creations {
        let Some(id) = creation.article() else {
            continue;
        };
        let path = creation.place.to_string();
        let mut told = paired.problems.iter();
        let is_told = told.any(|told| told.id == Some(id));
        let is_fresh = paired.new_files.iter().any(|file| is_at(creation, file));
        if is_told || is_fresh || paired.files.contains_key(&id) {
            continue;
        }
        let message = format!(
            "article {id} was, or may have been, created from this file. If the file exists, kbsync adds `id: {id}` once the \
             file is ready. If it was deleted, `kbsync restore {}` brings it back; otherwise kbsync writes a file for the \
             article once the other files with problems can be read",
            quoted(&path)
        );
        paired.report(&creation.place, Some(id), message);
    }
}

/// Returns the problem of a file that may belong to a pending creation.
fn moved_problem(file: &LocalFile, creation: &Creation) -> Problem {
    let from = &creation.place;
    let (what, remedy) = match &creation.row {
        Some(row) => (
            format!("article {}, which was created from {from},", row.id),
            format!("give it the line `id: {}`", row.id),
        ),
        None => (
            format!("the article that was to be created from {from}"),
            format!("move it back to {from}"),
        ),
    };
    same_words(file, creation.article(), &what, &remedy)
}

fn same_words(file: &LocalFile, id: Option<ArticleId>, what: &str, remedy: &str) -> Problem {
    let message = format!(
        "kbsync cannot tell whether this file is {what} or a new article: it has the same title and text. If it is that \
         article, {remedy}. If it is new, change its title."
    );
    Problem::at(&file.place, id, message)
}

/// Holds new files that have the title and the text of an article without a file, and marks these articles as unknown.
pub(super) fn hold_same_words(base: &Base, remote: &RemoteSnapshot, paired: &mut Paired) {
    if paired.new_files.is_empty() {
        return;
    }
    let articles_without_file = articles_without_file(base, remote, paired);
    for file in std::mem::take(&mut paired.new_files) {
        let Some(ids) = articles_without_file.get(&words(&file.version)) else {
            paired.new_files.push(file);
            continue;
        };
        for id in ids {
            let row = base.articles.get(id);
            let was = row.map_or(String::new(), |row| format!(" from {}", row.place));
            let (what, remedy) = (
                format!("article {id}{was}"),
                format!("add `id: {id}` to it"),
            );
            let problem = same_words(&file, Some(*id), &what, &remedy);
            paired.problems.push(problem);
        }
        let why = "a file without an id has its title and text";
        paired.mark_unknown(ids.iter().copied(), why);
    }
}

/// Holds new articles that have the title and text of a creation without an answer whose file cannot be compared with
/// them now, for example because it is being saved. Otherwise such an article would get a second file, and its own file
/// would become a second article.
pub(super) fn hold_unanswered(base: &Base, remote: &RemoteSnapshot, paired: &mut Paired) {
    for creation in &base.creations {
        let mut fresh = paired.new_files.iter();
        if creation.article().is_some() || fresh.any(|file| is_at(creation, file)) {
            continue;
        }
        for (id, entry) in &remote.articles {
            let is_as_sent = (entry.present()).is_some_and(|seen| creation.was_sent(&seen.version));
            if !is_as_sent || base.articles.contains_key(id) || !paired.is_free(*id) {
                continue;
            }
            let message = format!(
                "kbsync cannot tell whether article {id} was created from this file: it has the title and text that \
                 kbsync sent. kbsync writes no file for that article until it can read this one. If this is its file, \
                 add `id: {id}` to it. An ignored file has to be shown again, or removed."
            );
            paired.report(&creation.place, Some(*id), message);
            paired.doubt(
                *id,
                "it may have been created from a file that cannot be read now",
            );
        }
    }
}

/// Returns the articles without a file, by title and text: those of the base, with the content of their last file, and
/// those that only the service has. An article that is gone from the service cannot be duplicated.
fn articles_without_file<'a>(
    base: &'a Base,
    remote: &'a RemoteSnapshot,
    paired: &Paired,
) -> HashMap<(&'a str, TextDigest), BTreeSet<ArticleId>> {
    let gone = |id: &ArticleId| remote.articles.get(id) == Some(&Remote::Gone);
    let rows = base.articles.values().map(|row| (row.id, &row.local));
    let known = rows.filter(|(id, _)| !gone(id));
    let listed = remote.articles.iter().filter_map(|(id, entry)| {
        let new = !base.articles.contains_key(id);
        let seen = entry.present().filter(|_| new)?;
        Some((*id, &seen.version))
    });
    let mut found: HashMap<_, BTreeSet<_>> = HashMap::new();
    for (id, version) in known.chain(listed) {
        if !paired.files.contains_key(&id) {
            found.entry(words(version)).or_default().insert(id);
        }
    }
    found
}

fn words(version: &Version) -> (&str, TextDigest) {
    (&version.title, version.text)
}
