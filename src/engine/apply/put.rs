//! Single PUTs, and what is done about answers that do not come: one looks before anything is sent again.

use super::send::differ;
use super::{Done, Run, failed};
use crate::drill::defect::{self, Defect};
use crate::engine::Engine;
use crate::mirror::disk::Disk;
use crate::model::base::ArticleRow;
use crate::model::{ArticleId, Field, Revision, TextDigest, Version};
use crate::reconcile::plan::{Action, Settle};
use crate::reconcile::snapshot::Seen;
use crate::service::{
    Answer, ArticlePatch, ErrorKind, Purpose, RemoteArticle, Service, ServiceError,
};
use crate::state::{Intent, IntentId};
use std::time::Duration;

/// How often a lost answer is looked after before the article waits for the next cycle.
const TRIES: u32 = 5;

impl<S: Service, D: Disk> Engine<S, D> {
    /// Sends, and looks after a lost answer: a PUT is repeated only over the version that it was meant for.
    pub(super) async fn put(
        &mut self,
        id: ArticleId,
        patch: &ArticlePatch,
        settle: &Settle,
        run: &Run<'_>,
    ) -> anyhow::Result<Put> {
        let before = run
            .own
            .get(&id)
            .map_or(&settle.seen.version, |(version, _)| version);
        let after = sent_over(settle, before);
        let (mut tries, mut lost) = (0, false);
        loop {
            let error = match self.service.update_article(id, patch).await {
                Ok(article) => return Ok(Put::Answered(article)),
                Err(error) => error,
            };
            lost |= error.answer_lost;
            if !worth_another_look(&error) || tries == TRIES {
                return Ok(Put::Failed { error, lost });
            }
            tries += 1;
            if let Err(error) = self.before_another_look(&error, tries, lost).await {
                return Ok(Put::Failed { error, lost });
            }
            if defect::is(Defect::PutRepeatedBlindly) {
                continue;
            }
            let shown = (settle.seen.visibility, before);
            let found = match self.read_after(id, shown, lost).await? {
                Ok(found) => found,
                Err(found) if found.stops_all() => {
                    return Ok(Put::Failed { error: found, lost });
                }
                Err(_) => return Ok(Put::Failed { error, lost }),
            };
            let version = version_of(&found, before);
            // What was there before our own last write may happen to be what is sent now, and says nothing of it.
            let row = run.row(id);
            if row.is_some_and(|row| row.has_replaced(&version, &found.revision)) {
                return Ok(Put::Failed { error, lost });
            }
            // A GET does not tell `enabled`: then it is sent again, over what was just seen.
            let enabled =
                settle.send_enabled.is_none() || found.flags.enabled == settle.send_enabled;
            if version == after && enabled {
                return Ok(Put::Answered(found));
            }
            if version != after && version != *before {
                self.keep_found(id, &version, &found, run)?;
                return Ok(Put::Changed((version, found.revision)));
            }
            if !may_repeat(&error) {
                return Ok(Put::Failed { error, lost });
            }
        }
    }

    /// Waits after a write that failed, before one looks what became of it: for room for the look and another
    /// try where it was not sent for want of budget, else a little. After a write without an answer one may look twice.
    pub(super) async fn before_another_look(
        &self,
        error: &ServiceError,
        tries: u32,
        lost: bool,
    ) -> Answer<()> {
        if is_throttled(error) {
            let room = 2 + u32::from(lost);
            return self.service.reserve(room, Purpose::Push).await;
        }
        tracing::warn!(%error, tries, "no answer to a write; looking whether it arrived");
        self.clock.pause(pause(tries)).await;
        Ok(())
    }

    /// Sends a temporary slug; where the budget makes it wait, only over what it was meant for.
    async fn put_slug(
        &mut self,
        id: ArticleId,
        patch: &ArticlePatch,
        seen: &Seen,
        run: &Run<'_>,
    ) -> anyhow::Result<Answer<RemoteArticle>> {
        let mut tries = 0;
        loop {
            let error = match self.service.update_article(id, patch).await {
                Err(error) if is_throttled(&error) && tries < TRIES => error,
                answer => return Ok(answer),
            };
            tries += 1;
            if let Err(error) = self.before_another_look(&error, tries, false).await {
                return Ok(Err(error));
            }
            let found = match self.read_one(id, seen.visibility).await {
                Ok(found) => found,
                Err(error) => return Ok(Err(error)),
            };
            let version = version_of(&found, &seen.version);
            if version != seen.version {
                self.keep_found(id, &version, &found, run)?;
                return Ok(Err(error));
            }
        }
    }

    /// Frees a slug for a moment, so that two addresses can be swapped. An article without a row gets none by this: what
    /// both sides agree on is known once its file was sent.
    pub(super) async fn park_slug(
        &mut self,
        action: &Action,
        (id, slug, seen): (ArticleId, &str, &Seen),
        run: &mut Run<'_>,
    ) -> anyhow::Result<Done> {
        if let Some(done) = self.ensure_seen(id, seen, run).await? {
            return Ok(done);
        }
        let row = run.row(id).cloned();
        let remote = row.as_ref().map_or(&seen.version, |row| &row.remote);
        let intent = Intent::UpdateArticle {
            id,
            version: Version {
                slug: slug.to_owned(),
                ..remote.clone()
            },
            fields: vec![Field::Slug],
            enabled: None,
            over: seen.version.digest(),
            over_revision: seen.revision.clone(),
        };
        let now = self.clock.now();
        let intent = self.store.write(now, |tx| tx.add_intent(&intent))?;
        let patch = ArticlePatch {
            slug: Some(slug.to_owned()),
            ..ArticlePatch::default()
        };
        match self.put_slug(id, &patch, seen, run).await? {
            Ok(article) => {
                self.record_parked(row, seen, &article, intent, run)?;
                Ok(Done::Yes(None))
            }
            Err(error) if error.answer_lost => Ok(failed(error)),
            Err(error) => {
                let now = self.clock.now();
                self.store.write(now, |tx| tx.remove_intent(intent))?;
                self.not_done(action, error)
            }
        }
    }

    fn record_parked(
        &mut self,
        row: Option<ArticleRow>,
        seen: &Seen,
        article: &RemoteArticle,
        intent: IntentId,
        run: &mut Run<'_>,
    ) -> anyhow::Result<()> {
        let row = row.map(|row| parked(row, seen, article));
        let mut done = vec![intent];
        if let Some(row) = &row {
            done.extend(self.earlier_puts(row)?);
        }
        let now = self.clock.now();
        self.store.write(now, |tx| {
            row.iter().try_for_each(|row| tx.put_article(row))?;
            done.iter().try_for_each(|intent| tx.remove_intent(*intent))
        })?;
        let version = Version {
            slug: article.slug.clone(),
            ..seen.version.clone()
        };
        let meddled = row.as_ref().is_none_or(|row| row.written.is_none());
        self.ask_again(article.id, meddled);
        run.wrote(article.id, version, article.revision.clone());
        run.sight
            .base
            .articles
            .extend(row.map(|row| (article.id, row)));
        Ok(())
    }
}

/// The row of an article that has a temporary slug now.
fn parked(row: ArticleRow, seen: &Seen, article: &RemoteArticle) -> ArticleRow {
    // Only the slug is agreed on: what else a colleague changed is still to be pulled.
    let mut remote = row.remote.clone();
    remote.slug.clone_from(&article.slug);
    // The file never said this slug: whatever it says now is an edit to be sent.
    let mut local = row.local.clone();
    local.slug.clone_from(&article.slug);
    let said = version_of(article, &remote) == remote;
    // Nor is it just as we left it where a colleague has published or hidden it.
    let (told, flags) = (article.flags, row.remote_flags);
    let shown = differ(told.enabled, flags.enabled) || differ(told.draft, flags.draft);
    let known = row.remote == seen.version && said && !shown;
    let over = (seen.version.digest(), seen.revision.clone());
    ArticleRow {
        earlier: row.earlier_than(&over, &article.revision),
        replaced: Some(over),
        written: (!shown).then(|| article.revision.clone()),
        revision: if known {
            article.revision.clone()
        } else {
            row.revision.clone()
        },
        remote,
        local,
        stamp: None,
        ..row
    }
}

/// What a PUT came to.
pub(super) enum Put {
    /// It is there.
    Answered(RemoteArticle),
    /// Somebody else changed the article meanwhile; whether ours arrived before that cannot be told here.
    Changed((Version, Revision)),
    /// It was not carried out, or, if an answer was lost, perhaps not.
    Failed { error: ServiceError, lost: bool },
}

/// What an article says once what is sent has replaced a version.
pub(super) fn sent_over(settle: &Settle, before: &Version) -> Version {
    let mut after = before.clone();
    let sent = settle.send.iter();
    sent.for_each(|field| after.take(*field, &settle.file));
    after
}

/// Returns whether the service was not there; an answer that cannot be read will not be better next time.
fn is_down(error: &ServiceError) -> bool {
    error.kind == ErrorKind::Unavailable
}

/// Returns whether a write may have been carried out, or may be sent again once one has looked.
pub(super) fn worth_another_try(error: &ServiceError) -> bool {
    is_down(error) || (error.answer_lost && error.kind != ErrorKind::Unauthorized)
}

/// The same for a PUT or DELETE, which is not sent after a wait for the budget: nobody has waited for it yet.
pub(super) fn worth_another_look(error: &ServiceError) -> bool {
    is_throttled(error) || worth_another_try(error)
}

/// Returns whether a PUT or DELETE that did not arrive may be sent again.
pub(super) fn may_repeat(error: &ServiceError) -> bool {
    is_throttled(error) || is_down(error)
}

/// Returns whether a write was not carried out for want of budget, here or there: there has to be room first.
fn is_throttled(error: &ServiceError) -> bool {
    matches!(error.kind, ErrorKind::RateLimited { .. }) && !error.answer_lost
}

/// What an answer says; what it left out is as it was expected.
pub(in crate::engine) fn version_of(article: &RemoteArticle, expected: &Version) -> Version {
    Version {
        title: article.title.clone(),
        slug: article.slug.clone(),
        category: article.category,
        introtext: article.introtext.clone(),
        keywords: article.keywords.clone(),
        text: article
            .text
            .as_deref()
            .map_or(expected.text, TextDigest::of),
    }
}

/// A pause that doubles with every try.
pub(super) fn pause(tries: u32) -> Duration {
    Duration::from_millis(500).saturating_mul(1 << tries.min(6))
}
