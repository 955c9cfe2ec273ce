//! Which files are being brought back: remembered before the first of them is written, until the last one is.
//!
//! A run that is broken off leaves some of them out, and some it may have to refuse. What their absence says is nothing that a person did: as long as
//! it is remembered, no article is deleted on the service for it (failures row 40).

use super::{Look, Wish};
use crate::engine::Engine;
use crate::engine::observe::Sight;
use crate::mirror::disk::Disk;
use crate::model::{ArticleId, Timestamp};
use crate::service::Service;
use crate::state::Subject;
use crate::state::store::Store;
use std::collections::BTreeSet;

/// The key in the state.
const RESTORING: &str = "restoring";

/// The articles whose files were to be brought back, and were not.
pub(in crate::engine) fn begun(store: &Store) -> anyhow::Result<BTreeSet<ArticleId>> {
    let stored = store.meta(RESTORING)?;
    Ok(stored
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default())
}

/// Remembers that the files of articles are to be brought back.
///
/// # Errors
///
/// When the state cannot be written.
pub fn begin(
    store: &mut Store,
    ids: impl IntoIterator<Item = ArticleId>,
    now: Timestamp,
) -> anyhow::Result<()> {
    let before = begun(store)?;
    let mut ids: BTreeSet<ArticleId> = ids.into_iter().collect();
    ids.extend(&before);
    put(store, &before, &ids, now)
}

fn put(
    store: &mut Store,
    before: &BTreeSet<ArticleId>,
    ids: &BTreeSet<ArticleId>,
    now: Timestamp,
) -> anyhow::Result<()> {
    if ids == before {
        return Ok(());
    }
    if ids.is_empty() {
        store.write(now, |tx| tx.remove_meta(RESTORING))?;
        return Ok(());
    }
    let text = serde_json::to_string(ids)?;
    store.write(now, |tx| tx.set_meta(RESTORING, &text))?;
    Ok(())
}

/// The articles whose versions are wished for.
pub fn articles(wishes: &[Wish]) -> impl Iterator<Item = ArticleId> {
    wishes.iter().filter_map(|wish| match wish.subject {
        Subject::Article(id) => Some(id),
        Subject::File(_) => None,
    })
}

impl<S: Service, D: Disk> Engine<S, D> {
    /// Remembers which of the articles have no file yet.
    pub(super) fn begin_restoring(&mut self, wishes: &[Wish], look: &Look) -> anyhow::Result<()> {
        let missing = articles(wishes).filter(|id| {
            look.base.articles.contains_key(id) && !look.paired.files.contains_key(id)
        });
        let now = self.clock.now();
        begin(&mut self.store, missing, now)
    }

    /// These are back. What was refused is not: who wanted it back is asked before its article is deleted.
    pub(super) fn end_restoring(
        &mut self,
        back: impl Iterator<Item = ArticleId>,
    ) -> anyhow::Result<()> {
        let before = begun(&self.store)?;
        let mut left = before.clone();
        for id in back {
            left.remove(&id);
        }
        let now = self.clock.now();
        put(&mut self.store, &before, &left, now)
    }

    /// Forgets what came back by now, however it did, and what is no article of ours any more.
    pub(in crate::engine) fn forget_restored(&mut self, sight: &Sight) -> anyhow::Result<()> {
        let before = begun(&self.store)?;
        let mut left = before.clone();
        left.retain(|id| {
            let is_ours = sight.looked.has_few() || sight.base.articles.contains_key(id);
            is_ours && !sight.paired.files.contains_key(id)
        });
        let now = self.clock.now();
        put(&mut self.store, &before, &left, now)
    }
}
