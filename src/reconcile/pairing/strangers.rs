//! A state that is new does not know what an earlier one created: a file into which the id never came, and which was
//! moved since, is found by its words.

use super::Paired;
use super::words::DOUBTFUL;
use crate::model::{ArticleId, TextDigest};
use crate::reconcile::plan::Problem;
use crate::reconcile::snapshot::{Base, LocalFile, LocalSnapshot, Remote, RemoteSnapshot, Seen};

/// While the state is new, holds new files that say just what a listed article says which has no file, and such
/// articles: sent as a new one, it would be there twice.
pub(super) fn hold_moved(
    base: &Base,
    local: &LocalSnapshot,
    remote: &RemoteSnapshot,
    paired: &mut Paired,
) {
    if !local.first {
        return;
    }
    for file in std::mem::take(&mut paired.fresh) {
        let mut listed = remote
            .articles
            .iter()
            .filter_map(|(id, entry)| match entry {
                Remote::Present(seen) if !base.articles.contains_key(id) => Some((*id, seen)),
                Remote::Present(_) | Remote::Gone | Remote::NotVisible(_) | Remote::Unknown(_) => {
                    None
                }
            });
        let found = listed.find(|(id, seen)| {
            let told = paired.unknown.get(id).is_some_and(|why| why == DOUBTFUL);
            (paired.is_free(*id) || told) && says_the_same(&file, seen)
        });
        let Some((id, seen)) = found else {
            paired.fresh.push(file);
            continue;
        };
        report(&file, id, seen, paired);
        paired.mark([id], DOUBTFUL);
    }
}

/// Nothing is nobody's words.
fn says_the_same(file: &LocalFile, seen: &Seen) -> bool {
    let (here, there) = (&file.version, &seen.version);
    here.title == there.title && here.text == there.text && here.text != TextDigest::of("")
}

fn report(file: &LocalFile, id: ArticleId, seen: &Seen, paired: &mut Paired) {
    paired.problems.push(Problem {
        path: file.place.to_string(),
        id: Some(id),
        message: format!(
            "it has no `id:` line, and title and text of article {id} (\"{}\"), which has no file: whether it is its \
             file cannot be told, since the state is new; put `id: {id}` into it, or change its words if it is \
             another article",
            seen.version.slug
        ),
    });
}
