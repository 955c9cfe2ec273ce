//! A new file whose POST got no answer, moved over another article's file before its id was in it.
//!
//! Its place says that it is new words of that article. Its own words say that it is the new article, and that
//! the other one is to go. If that new article is hidden, nothing on the service can tell: a person has to.

use super::Sight;
use crate::engine::Engine;
use crate::engine::recover::is_posted;
use crate::mirror::disk::Disk;
use crate::model::{ArticleId, Place, Version};
use crate::reconcile::plan::Problem;
use crate::reconcile::snapshot::{Base, LocalFile};
use crate::service::Service;
use crate::state::Intent;

impl<S: Service, D: Disk> Engine<S, D> {
    /// Leaves files without an id alone that may be what was posted, and not the article at whose place they lie.
    pub(super) fn hold_posted(&self, base: &Base, sight: &mut Sight) -> anyhow::Result<()> {
        let mut posts: Vec<(Place, Version)> = Vec::new();
        for (_, intent) in self.store.intents()? {
            if let Intent::CreateArticle { place, version, .. } = intent
                && !is_known(base, &version)
            {
                posts.push((place, version));
            }
        }
        if posts.is_empty() {
            return Ok(());
        }
        let came_from = |file: &LocalFile| {
            let found = (&file.place, &file.version);
            posts.iter().find_map(|(place, sent)| {
                let posted = is_posted(&sight.local, found, (place, sent));
                (posted && *place != file.place).then_some(place)
            })
        };
        let files = sight.paired.files.iter();
        let held: Vec<(ArticleId, Place, &Place)> = files
            .filter(|(id, file)| file.id.is_none() && !is_its_own(base, **id, file))
            .filter_map(|(id, file)| Some((*id, file.place.clone(), came_from(file)?)))
            .collect();
        for (id, place, from) in held {
            sight.paired.files.remove(&id);
            let why = "the file at its place may be another article's";
            sight.paired.unknown.insert(id, why.to_owned());
            sight.paired.problems.push(Problem {
                path: place.to_string(),
                id: Some(id),
                message: format!(
                    "it lies where article {id} was, and says what was sent from {from} as a new article, which got \
                     no answer: which of the two it is cannot be told; put `id: {id}` into it, or move it to another \
                     name"
                ),
            });
        }
        Ok(())
    }
}

/// Tells whether an article of the base has the address that was sent.
fn is_known(base: &Base, sent: &Version) -> bool {
    let mut rows = base.articles.values();
    rows.any(|row| (row.remote.category, &row.remote.slug) == (sent.category, &sent.slug))
}

/// Tells whether a file has the title or the text of the article at its place.
fn is_its_own(base: &Base, id: ArticleId, file: &LocalFile) -> bool {
    base.articles.get(&id).is_none_or(|row| {
        row.local.title == file.version.title || row.local.text == file.version.text
    })
}
