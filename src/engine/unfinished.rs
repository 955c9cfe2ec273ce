//! The articles that a restore was to bring back and that have no file yet.
//!
//! A restore that is broken off, or refuses a file, leaves some of them out. Their absence is no removal by a person:
//! as long as they are remembered, no article is deleted on the service for it (failures row 40).

use crate::engine::observation::Observation;
use crate::model::ArticleId;
use crate::state::store::Store;
use std::collections::BTreeSet;

/// The kind of the articles that a restore has still to bring back.
const RESTORING: &str = "restoring";

/// Returns the articles that were to come back.
pub(in crate::engine) fn unfinished(store: &Store) -> anyhow::Result<BTreeSet<ArticleId>> {
    Ok(store.waiting(RESTORING)?.into_values().collect())
}

/// Remembers the articles before the first of their files is written.
///
/// # Errors
///
/// When the state cannot be written.
pub fn begin(
    store: &mut Store,
    articles: impl IntoIterator<Item = ArticleId>,
) -> anyhow::Result<()> {
    let mut ids = unfinished(store)?;
    ids.extend(articles);
    put(store, &ids)
}

fn put(store: &mut Store, ids: &BTreeSet<ArticleId>) -> anyhow::Result<()> {
    let rows = ids.iter().map(|id| (id.to_string(), *id)).collect();
    store.learn(|tx| tx.put_waiting(RESTORING, &rows))?;
    Ok(())
}

/// Forgets the articles whose files are there again, and those that are no articles of this workspace any more.
pub(in crate::engine) fn forget_restored(
    store: &mut Store,
    observed: &Observation,
) -> anyhow::Result<()> {
    let before = unfinished(store)?;
    let mut left = before.clone();
    left.retain(|id| {
        let is_ours = observed.extent.has_few() || observed.base.articles.contains_key(id);
        is_ours && !observed.paired.files.contains_key(id)
    });
    if left != before {
        put(store, &left)?;
    }
    Ok(())
}
