//! A new file whose POST got no answer, and that took another article's place or address before its id was in it.
//!
//! Its place, or its address, says that it is new words of that article. Its own words say that it is the new article,
//! and that the other one is to go. If that new article is hidden, nothing on the service can tell: a person has to.
//!
//! The same the other way round: an article whose file was begun, and may lie in a folder that cannot be listed.

use super::Sight;
use crate::engine::recover::is_posted;
use crate::model::base::ArticleRow;
use crate::model::{ArticleId, Place, Version};
use crate::reconcile::plan::Problem;
use crate::reconcile::snapshot::{Base, LocalFile};
use crate::state::{Intent, IntentId};

/// Leaves files without an id alone that may be what was posted, and not the article whose place or address they
/// have.
pub(super) fn hold_posted(base: &Base, intents: &[(IntentId, Intent)], sight: &mut Sight) {
    let mut posts: Vec<(&Place, &Version)> = Vec::new();
    for (_, intent) in intents {
        if let Intent::CreateArticle { place, version, .. } = intent
            && !is_known(base, version)
        {
            posts.push((place, version));
        }
    }
    if posts.is_empty() {
        return;
    }
    let came_from = |id: ArticleId, file: &LocalFile| {
        let found = (&file.place, &file.version);
        posts.iter().find_map(|&(place, sent)| {
            let posted = is_posted(&sight.local, found, (place, sent));
            // Where it was sent from itself, only its address can have made it another one's.
            let taken = *place != file.place || !lies_at_home(base, id, file);
            (posted && taken).then_some(place)
        })
    };
    let files = sight.paired.files.iter();
    // By its text alone it is the one that was sent, whatever they are both called.
    let says_what_was_sent = |file: &LocalFile| {
        let text = file.version.text;
        sight.local.telling.contains(&text) && posts.iter().any(|(_, sent)| sent.text == text)
    };
    let is_its_own = |id: ArticleId, file: &LocalFile| {
        base.articles.get(&id).is_none_or(|row| {
            let titled = row.local.title == file.version.title && !says_what_was_sent(file);
            titled || row.local.text == file.version.text
        })
    };
    let held: Vec<(ArticleId, LocalFile, &Place)> = files
        .filter(|(id, file)| file.id.is_none() && !is_its_own(**id, file))
        .filter_map(|(id, file)| Some((*id, file.clone(), came_from(*id, file)?)))
        .collect();
    for (id, file, from) in held {
        let (said, other) = if lies_at_home(base, id, &file) {
            (
                format!("lies where article {id} was"),
                "move it to another name",
            )
        } else {
            (
                format!("has the address of article {id}"),
                "give it another address",
            )
        };
        sight.paired.files.remove(&id);
        let why = "the file that would be its own may be another article's";
        sight.paired.unknown.insert(id, why.to_owned());
        sight.paired.problems.push(Problem {
            path: file.place.to_string(),
            id: Some(id),
            message: format!(
                "it {said}, and says what was sent from {from} as a new article, which got no answer: which of the two it is cannot be told; put `id: {id}` into it, or {other}"
            ),
        });
    }
}

/// Leaves articles alone that the base does not know, and whose file an earlier run may have made in a folder that
/// cannot be listed now: another one, in another place, would make that one a copy.
pub(super) fn hold_begun(base: &Base, intents: &[(IntentId, Intent)], sight: &mut Sight) {
    for (_, intent) in intents {
        if let Intent::WriteFile { id, to, .. } = intent
            && !base.articles.contains_key(id)
            && !sight.paired.files.contains_key(id)
            && sight.local.unreadable.contains(&to.folder)
        {
            let why = "its file may lie in a folder that cannot be read";
            sight.paired.unknown.insert(*id, why.to_owned());
        }
    }
}

/// Returns whether a file lies where its article's was, whatever the folder is called by now.
fn lies_at_home(base: &Base, id: ArticleId, file: &LocalFile) -> bool {
    let place = |row: &ArticleRow| {
        (row.local.category, &row.place.file) == (file.version.category, &file.place.file)
    };
    base.articles.get(&id).is_some_and(place)
}

/// Returns whether an article of the base has the address that was sent.
fn is_known(base: &Base, sent: &Version) -> bool {
    let mut rows = base.articles.values();
    rows.any(|row| (row.remote.category, &row.remote.slug) == (sent.category, &sent.slug))
}
