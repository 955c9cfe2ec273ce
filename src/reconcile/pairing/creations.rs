//! Articles that are being created: files that may be theirs.
//!
//! Whether the service has such an article may not be known, and where nothing shows it only its file can tell: a new file
//! with the title and the text that were sent is held, wherever it lies. So is the file at the place of an article that the
//! service shows with other words than were sent.

use super::Paired;
use crate::model::base::Creation;
use crate::model::path::quoted;
use crate::model::{ArticleId, CategoryId};
use crate::reconcile::plan::Problem;
use crate::reconcile::snapshot::{Base, LocalFile, LocalSnapshot};
use std::collections::BTreeMap;

/// The articles that are being created and have nothing at their place.
pub(super) fn creations_without_file<'b>(
    base: &'b Base,
    files: &[LocalFile],
    local: &LocalSnapshot,
    folders: &BTreeMap<&str, CategoryId>,
) -> Vec<&'b Creation> {
    let lies = |creation: &&Creation| {
        let mut unknown = local.unknown.iter().map(|unknown| &unknown.place);
        files.iter().any(|file| is_at(creation, file))
            || unknown.any(|place| {
                let category = folders.get(place.folder.as_str());
                category.is_some_and(|category| creation.is_at(*category, &place.file))
            })
    };
    let creations = base.creations.iter();
    creations.filter(|creation| !lies(creation)).collect()
}

/// Holds the files that may belong to these creations. Returns the other files, and the articles that become unknown.
pub(super) fn hold_moved(
    base: &Base,
    creations: &[&Creation],
    files: Vec<LocalFile>,
    paired: &mut Paired,
) -> (Vec<LocalFile>, Vec<ArticleId>) {
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

/// Returns whether a file has the title and text of a try, and differs from the article that its id names.
pub(crate) fn may_be_of(creation: &Creation, file: &LocalFile, base: &Base) -> bool {
    let is_new = file.id.is_none_or(|id| {
        let row = base.articles.get(&id);
        row.is_some_and(|row| !row.local.same_words(&file.version))
    });
    is_new && creation.was_sent(&file.version)
}

/// Says of a file that nobody can tell whether the article at its address was created from it.
fn unclear_at(base: &Base, file: &LocalFile) -> Option<Problem> {
    let mut creations = base.creations.iter();
    let id = creations.find(|creation| is_at(creation, file))?.unclear?;
    let is_known = |named: ArticleId| named == id || base.articles.contains_key(&named);
    if file.id.is_some_and(is_known) {
        return None;
    }
    Some(Problem::at(&file.place, Some(id), unclear(id)))
}

/// Returns whether a file is at the place of an article that is being created.
pub(super) fn is_at(creation: &Creation, file: &LocalFile) -> bool {
    creation.is_at(file.version.category, &file.place.file)
}

/// Reports the articles that are being created of which nothing else is said, and which no step of the plan gives a file.
pub(super) fn report_waiting(base: &Base, paired: &mut Paired) {
    for creation in &base.creations {
        let Some(id) = creation.article() else {
            continue;
        };
        let is_told = paired.problems.iter().any(|told| told.id == Some(id));
        let is_fresh = paired.fresh.iter().any(|file| is_at(creation, file));
        if is_told || is_fresh || paired.files.contains_key(&id) {
            continue;
        }
        let path = creation.place.to_string();
        let path = quoted(&path);
        let message = match creation.row {
            Some(_) => format!(
                "article {id} was created from this file: kbsync adds `id: {id}` to the file once it is ready. If the file \
                 is gone, `kbsync restore {path}` brings it back"
            ),
            None => format!(
                "article {id} may have been created from this file, which is gone; kbsync writes a file for it once the \
                 other files with problems can be read"
            ),
        };
        paired.report(&creation.place, Some(id), message);
    }
}

/// Says that an article may be the one that a file was sent to create.
fn unclear(id: ArticleId) -> String {
    format!(
        "article {id} has the address of this file and other words: kbsync sent the file, got no answer, and cannot tell \
         whether that article is what came of it. If it is, the file needs the line `id: {id}`. If it is not, give the \
         file another name, title and slug."
    )
}

fn remedy(id: ArticleId, named: Option<ArticleId>) -> String {
    match named {
        Some(_) => format!("change its `id:` line to `id: {id}`"),
        None => format!("add `id: {id}` to it"),
    }
}

fn moved_problem(file: &LocalFile, creation: &Creation) -> Problem {
    let made = creation.row.as_ref().map(|row| row.id);
    let from = &creation.place;
    let message = match made {
        Some(id) => {
            let remedy = remedy(id, file.id);
            format!(
                "kbsync cannot tell whether this file is article {id}, which was created from {from}, or a new article: it \
                 has the same title and text. If it is {id}, {remedy}. If it is new, change its title."
            )
        }
        None => format!(
            "kbsync cannot tell whether this file is the article that was to be created from {from}, or a new one: it has \
             the same title and text, and the service has not said whether that one exists. Move it back to {from}, or \
             change its title if it is new."
        ),
    };
    Problem::at(&file.place, creation.article(), message)
}
