//! Articles that were read and are not met: neither was a file written, nor is there a row that would remember them. A
//! cycle that may not write, or could not, has seen their words all the same (promise 1). Not those
//! whose places are ignored: they are out of scope both ways.

use crate::engine::observation::Observation;
use crate::model::path::{EXTENSION, stem_for};
use crate::model::{ArticleId, Place, Side, Version};
use crate::reconcile::snapshot::{Base, Remote};
use crate::state::store::Store;
use crate::state::{Outcome, SeenVersion, Subject};

/// Puts what was seen of them into the history. Nothing is written where it is there already.
pub(in crate::engine) fn store_unpaired(store: &mut Store, observed: &Observation) -> Outcome<()> {
    let mut unkept = Vec::new();
    for (id, entry) in &observed.remote.articles {
        let Remote::Present(seen) = entry else {
            continue;
        };
        if observed.base.articles.contains_key(id) {
            continue;
        }
        let place = place(*id, &seen.version, &observed.base);
        if observed.mirror.layout.ignores(&place) {
            continue;
        }
        let subject = Subject::Article(*id);
        let known = store.last_seen(&subject, Side::Remote)?;
        // One that was met and is not any more was deleted in this very cycle: what it said is kept.
        if known == Some(seen.version.digest())
            || store.was_met(&subject)?
            || !store.has_body(seen.version.text)?
        {
            continue;
        }
        unkept.push(SeenVersion {
            subject,
            place,
            side: Side::Remote,
            cause: "seen on the service".to_owned(),
            version: seen.version.clone(),
            file: None,
        });
    }
    if unkept.is_empty() {
        return Ok(());
    }
    store.write(|tx| {
        unkept
            .iter()
            .try_for_each(|seen| tx.record(seen).map(|_| ()))
    })?;
    Ok(())
}

/// Where its file might be, for people who look for it by a path.
pub(super) fn place(id: ArticleId, version: &Version, base: &Base) -> Place {
    let row = base.categories.get(&version.category);
    let folder = row.map(|row| {
        row.folder
            .clone()
            .unwrap_or_else(|| row.remote.slug.clone())
    });
    let folder = folder.unwrap_or_else(|| version.category.to_string());
    let stem = stem_for(&version.slug, id.uuid(), &|_| false);
    Place::new(folder, format!("{stem}{EXTENSION}"))
}
