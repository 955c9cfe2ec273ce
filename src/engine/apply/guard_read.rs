//! The guard read: nobody is overwritten unseen (design, sections 1 and 5).
//!
//! A version is *seen* while the listing or GET that showed it is younger than `guard_window`. Otherwise it
//! is read again before it is replaced: one article by GET, several by one listing, an unpublished one by a
//! probe. What changed meanwhile is left to the next cycle, which decides anew.

use super::{Done, Run, failed};
use crate::engine::Engine;
use crate::engine::observe::remote::{Known, ListError, list};
use crate::engine::spool::Spool;
use crate::mirror::disk::Disk;
use crate::model::base::Visibility;
use crate::model::{ArticleId, TextDigest};
use crate::reconcile::snapshot::{Remote, Seen};
use crate::service::{Answer, ListRequest, RemoteArticle, Service};
use std::collections::{BTreeSet, HashSet};
use tokio::time::Instant;

/// From this many pending writes on, one listing is cheaper than a GET for each.
const SEVERAL: usize = 2;

impl<S: Service, D: Disk> Engine<S, D> {
    /// Makes sure that the version to be replaced is still the one that was decided on.
    pub(super) async fn ensure_seen(
        &mut self,
        id: ArticleId,
        seen: &Seen,
        run: &mut Run<'_>,
    ) -> anyhow::Result<Option<Done>> {
        let window = self.settings.guard_window;
        let fresh = |at: Instant| !window.is_zero() && at.elapsed() <= window;
        if fresh(run.reseen.get(&id).copied().unwrap_or(run.sight.seen_at)) {
            return Ok(None);
        }
        if !window.is_zero() && run.to_send >= SEVERAL && seen.visibility == Visibility::Published {
            if let Some(done) = self.look_again(run).await? {
                return Ok(Some(done));
            }
            if run.reseen.get(&id).copied().is_some_and(fresh) {
                return Ok(changed(id, seen, run));
            }
        }
        let article = match self.read_one(id, seen.visibility).await {
            Ok(article) => article,
            Err(error) => return Ok(Some(failed(error))),
        };
        run.reseen.insert(id, Instant::now());
        let mut version = seen.version.clone();
        version.title = article.title;
        version.slug = article.slug;
        version.category = article.category;
        version.introtext = article.introtext;
        version.keywords = article.keywords;
        if let Some(text) = &article.text {
            version.text = TextDigest::of(text);
        }
        run.latest.insert(id, (version, article.revision));
        Ok(changed(id, seen, run))
    }

    /// Reads one article, by the way that shows it.
    pub(super) async fn read_one(
        &self,
        id: ArticleId,
        visibility: Visibility,
    ) -> Answer<RemoteArticle> {
        use crate::service::Purpose;
        match visibility {
            Visibility::Published => self.service.article(id, Purpose::Push).await,
            Visibility::Unpublished | Visibility::NotVisible | Visibility::Gone => {
                self.service.probe(id, Purpose::Push).await
            }
        }
    }

    /// Lists once more, for all that still waits to be sent.
    async fn look_again(&mut self, run: &mut Run<'_>) -> anyhow::Result<Option<Done>> {
        let now = self.clock.now();
        let rows = run.sight.base.articles.clone();
        let (tombstones, changed) = (HashSet::new(), BTreeSet::new());
        let known = Known {
            rows: &rows,
            tombstones: &tombstones,
            changed: &changed,
            now,
        };
        let request = ListRequest {
            workspace: self.settings.workspace,
            categories: run.sight.base.categories.keys().copied().collect(),
            validator: None,
            purpose: crate::service::Purpose::Push,
        };
        let mut spool = Spool::new(false, now);
        let at = Instant::now();
        match list(&self.service, &request, &known, &mut self.store, &mut spool).await {
            Ok(listing) => {
                for (id, entry) in listing.articles {
                    if let Remote::Present(seen) = entry {
                        run.latest.insert(id, (seen.version, seen.revision));
                        run.reseen.insert(id, at);
                    }
                }
                run.sight.seen_at = at;
                Ok(None)
            }
            Err(ListError::Service(error)) => Ok(Some(failed(error))),
            Err(ListError::State(error)) => Err(error.into()),
        }
    }
}

/// What was seen again, compared with what was decided on.
fn changed(id: ArticleId, seen: &Seen, run: &Run<'_>) -> Option<Done> {
    let (version, _) = run.latest.get(&id)?;
    let expected = run
        .own
        .get(&id)
        .map_or(&seen.version, |(version, _)| version);
    (version != expected)
        .then(|| Done::Later("the article changed on the service since it was read".to_owned()))
}
