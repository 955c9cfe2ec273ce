//! PUTs without an answer that are about to be made again: over what they were meant for, and nothing else.

use super::super::Engine;
use super::super::observe::Sight;
use crate::mirror::disk::Disk;
use crate::reconcile::snapshot::Remote;
use crate::service::Service;
use crate::state::Intent;

impl<S: Service, D: Disk> Engine<S, D> {
    /// Marks the articles that are shown just as they were before a PUT that got no answer: it did not arrive, or that is
    /// an old copy, and hides what a colleague wrote since. Whoever sends it again, or deletes, reads the article first.
    /// This is asked before the steps are settled: one that is void by then may have arrived all the same.
    pub(in crate::engine) fn recall_unanswered(&self, sight: &mut Sight) -> anyhow::Result<()> {
        for (_, intent) in self.store.intents()? {
            let Intent::UpdateArticle {
                id, over_revision, ..
            } = intent
            else {
                continue;
            };
            if let Some(Remote::Present(seen)) = sight.remote.articles.get(&id)
                && seen.revision == over_revision
            {
                sight.recalled.insert(id);
            }
        }
        Ok(())
    }
}
