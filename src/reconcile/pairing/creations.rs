//! Articles that are being created, whose file is not where it was.
//!
//! Whether the service has such an article may not be known, and where nothing shows it only its file can tell: a new file
//! with the title and the text that were sent is held, wherever it lies.

use super::Paired;
use crate::model::base::Creation;
use crate::model::{ArticleId, CategoryId};
use crate::reconcile::plan::Problem;
use crate::reconcile::snapshot::{Base, LocalFile, LocalSnapshot, Remote, RemoteSnapshot};
use std::collections::BTreeMap;

/// The articles that are being created and have nothing at their place.
pub(super) fn without_file<'b>(
    base: &'b Base,
    files: &[LocalFile],
    local: &LocalSnapshot,
    folders: &BTreeMap<&str, CategoryId>,
) -> Vec<&'b Creation> {
    let lies = |creation: &&Creation| {
        let mut unknown = local.unknown.iter().map(|unknown| &unknown.place);
        files
            .iter()
            .any(|file| creation.is_at(file.version.category, &file.place.file))
            || unknown.any(|place| {
                let category = folders.get(place.folder.as_str());
                category.is_some_and(|category| creation.is_at(*category, &place.file))
            })
    };
    let creations = base.creations.iter();
    creations.filter(|creation| !lies(creation)).collect()
}

/// Holds the files that may be those of such articles. Gives the files that are left, and the articles of which nothing is
/// known then.
pub(super) fn hold_moved(
    base: &Base,
    creations: &[&Creation],
    files: Vec<LocalFile>,
    remote: &RemoteSnapshot,
    paired: &mut Paired,
) -> (Vec<LocalFile>, Vec<ArticleId>) {
    let mut left = Vec::with_capacity(files.len());
    let mut unknown = Vec::new();
    for file in files {
        let mut sent = creations.iter();
        let Some(creation) = sent.find(|creation| may_be_of(creation, &file, base)) else {
            left.push(file);
            continue;
        };
        let made = creation.row.as_ref().map(|row| row.id);
        let made = made.or_else(|| at_address(creation, base, remote));
        paired.problems.push(moved(&file, creation, made));
        let places = base.articles.values();
        let owner = places
            .filter(|row| row.place == file.place)
            .map(|row| row.id);
        unknown.extend(owner.chain(file.id).chain(made));
    }
    (left, unknown)
}

/// Returns whether a file says what was sent to create an article, and not what the article said that it names.
pub(crate) fn may_be_of(creation: &Creation, file: &LocalFile, base: &Base) -> bool {
    let is_new = file.id.is_none_or(|id| {
        let row = base.articles.get(&id);
        row.is_some_and(|row| !row.local.same_words(&file.version))
    });
    is_new && creation.was_sent(&file.version)
}

/// The unknown article at the address to which something was sent.
fn at_address(creation: &Creation, base: &Base, remote: &RemoteSnapshot) -> Option<ArticleId> {
    let mut articles = remote.articles.iter();
    articles.find_map(|(id, entry)| {
        let Remote::Present(seen) = entry else {
            return None;
        };
        let address = (seen.version.category, &*seen.version.slug);
        let is_new = !base.articles.contains_key(id);
        (is_new && address == creation.address()).then_some(*id)
    })
}

fn moved(file: &LocalFile, creation: &Creation, made: Option<ArticleId>) -> Problem {
    let from = &creation.place;
    let message = match made {
        Some(id) => {
            let remedy = match file.id {
                Some(_) => format!("change its `id:` line to `id: {id}`"),
                None => format!("add `id: {id}` to it"),
            };
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
    Problem {
        path: file.place.to_string(),
        id: made,
        message,
    }
}
