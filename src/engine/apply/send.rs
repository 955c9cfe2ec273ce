//! PUT: the changed fields of one article, and what the service made of them.

use super::guard_read::changed_meanwhile;
use super::record::{Sent, agreed, deed, row_after};
use super::{Done, Run, failed};
use crate::drill::defect::{self, Defect};
use crate::engine::Engine;
use crate::engine::observe::remote::visibility_of;
use crate::mirror::disk::Disk;
use crate::model::base::{ArticleRow, Visibility};
use crate::model::{ArticleId, Digest, Field, Flags, Revision, Side, TextDigest, Version, html};
use crate::reconcile::plan::{Action, Settle};
use crate::reconcile::snapshot::Seen;
use crate::service::{
    Answer, ArticlePatch, ErrorKind, Purpose, RemoteArticle, Service, ServiceError,
};
use crate::state::{Intent, IntentId, Seen as SeenVersion, Subject};
use std::time::Duration;

/// How often a lost answer is looked after before the article waits for the next cycle.
const TRIES: u32 = 5;

impl<S: Service, D: Disk> Engine<S, D> {
    /// Writes the file if that is needed, then sends: a merged article is pushed in the same cycle.
    pub(super) async fn settle_and_send(
        &mut self,
        action: &Action,
        settle: &Settle,
        run: &mut Run<'_>,
    ) -> anyhow::Result<Done> {
        let Some(file) = run.resolved(&settle.file) else {
            return Ok(Done::Later("its category could not be created".to_owned()));
        };
        let settle = Settle {
            file,
            ..settle.clone()
        };
        if let Some(done) = self.ensure_seen(settle.id, &settle.seen, run).await? {
            return Ok(done);
        }
        let first = run.row(settle.id).is_none();
        if settle.touches_file()
            && let Some(done) = self.settle_first_half(action, &settle, run).await?
        {
            return Ok(done);
        }
        self.send(action, &settle, first, run).await
    }

    async fn send(
        &mut self,
        action: &Action,
        settle: &Settle,
        first: bool,
        run: &mut Run<'_>,
    ) -> anyhow::Result<Done> {
        let patch = self.patch(settle, run)?;
        let (over, over_revision) = over(settle, run);
        let intent = Intent::UpdateArticle {
            id: settle.id,
            version: settle.file.clone(),
            fields: settle.send.clone(),
            enabled: settle.send_enabled,
            over,
            over_revision,
        };
        let now = self.clock.now();
        let intent = self.store.write(now, |tx| {
            // On a first meeting nothing else remembers what is overwritten.
            if first {
                tx.record(&SeenVersion {
                    subject: Subject::Article(settle.id),
                    place: settle.to.clone(),
                    side: Side::Remote,
                    cause: "replaced".to_owned(),
                    version: settle.seen.version.clone(),
                    file: None,
                })?;
            }
            tx.add_intent(&intent)
        })?;
        match self.put(settle.id, &patch, settle, run).await? {
            Put::Answered(article) => {
                let note = self.record_sent(action, settle, &article, intent, run)?;
                Ok(Done::Yes(note.or_else(|| action.note.clone())))
            }
            // The intent stays: the next cycle finds out what became of it.
            Put::Changed => Ok(changed_meanwhile()),
            Put::Failed { error, lost: true } => Ok(failed(error)),
            Put::Failed { error, lost: false } => {
                let now = self.clock.now();
                self.store.write(now, |tx| tx.remove_intent(intent))?;
                self.not_done(action, error)
            }
        }
    }

    /// Sends, and looks after a lost answer: a PUT is repeated only over the version that it was meant for.
    async fn put(
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
        let mut after = before.clone();
        settle
            .send
            .iter()
            .for_each(|field| after.take(*field, &settle.file));
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
            if let Err(error) = self.before_another_look(&error, tries).await {
                return Ok(Put::Failed { error, lost });
            }
            if defect::is(Defect::PutRepeatedBlindly) {
                continue;
            }
            let Ok(found) = self.read_one(id, settle.seen.visibility).await else {
                return Ok(Put::Failed { error, lost });
            };
            let version = version_of(&found, before);
            // A GET does not tell `enabled`: then it is sent again, over what was just seen.
            let enabled =
                settle.send_enabled.is_none() || found.flags.enabled == settle.send_enabled;
            if version == after && enabled {
                return Ok(Put::Answered(found));
            }
            if version != after && version != *before {
                self.keep_found(id, &version, &found, run)?;
                return Ok(Put::Changed);
            }
            if !may_repeat(&error) {
                return Ok(Put::Failed { error, lost });
            }
        }
    }

    /// Waits after a write that failed, before one looks what became of it: for room for the look and another
    /// try where it was not sent for want of budget, else a little.
    pub(super) async fn before_another_look(&self, error: &ServiceError, tries: u32) -> Answer<()> {
        if is_throttled(error) {
            return self.service.keep(2, Purpose::Push).await;
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
            if let Err(error) = self.before_another_look(&error, tries).await {
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

    fn patch(&self, settle: &Settle, run: &Run<'_>) -> anyhow::Result<ArticlePatch> {
        let file = &settle.file;
        let mut patch = ArticlePatch {
            enabled: settle.send_enabled,
            ..ArticlePatch::default()
        };
        for field in &settle.send {
            match field {
                Field::Title => patch.title = Some(file.title.clone()),
                Field::Slug => patch.slug = Some(file.slug.clone()),
                Field::Category => patch.category = Some(file.category),
                Field::Introtext => patch.introtext = Some(file.introtext.clone()),
                Field::Keywords => patch.keywords = Some(file.keywords.clone()),
                Field::Text => patch.text = Some(self.text(file.text, run)?),
                Field::Enabled
                | Field::Draft
                | Field::Name
                | Field::Description
                | Field::MetaDescription => {}
            }
        }
        Ok(patch)
    }

    /// Records what the service answered: it may have rewritten what it was sent ("Echo").
    fn record_sent(
        &mut self,
        action: &Action,
        settle: &Settle,
        article: &RemoteArticle,
        intent: IntentId,
        run: &mut Run<'_>,
    ) -> anyhow::Result<Option<String>> {
        let (mut version, revision) = base_after(settle, article);
        if defect::is(Defect::EchoIsAnEdit) {
            version = settle.file.clone();
        }
        let warning = match &article.text {
            Some(after)
                if settle.send.contains(&Field::Text) && version.text != settle.file.text =>
            {
                html::shrank(&self.text(settle.file.text, run)?, after)
            }
            Some(_) | None => None,
        };
        let flags = Flags {
            enabled: article
                .flags
                .enabled
                .or(settle.send_enabled)
                .or(settle.seen.flags.enabled),
            draft: article.flags.draft.or(settle.seen.flags.draft),
        };
        let visibility = if flags.hides() {
            Visibility::Unpublished
        } else if settle.send_enabled == Some(true) {
            visibility_of(flags)
        } else {
            settle.seen.visibility
        };
        let sent = Sent {
            at: self.clock.now(),
            version,
            revision,
            written: article.revision.clone(),
            over: over(settle, run),
            flags,
            visibility,
        };
        // Of the file as it was scanned or written: it may have been saved again since.
        let stamp = run.sight.stamps.get(&settle.to).copied();
        let stamp = stamp.and_then(|stamp| self.trusted_scan(stamp, run.sight));
        let lf = run.sight.text_lf.get(&settle.file.text).copied();
        let row = row_after(run.row(settle.id), settle, stamp, lf, Some(&sent));
        self.write_sent(action, settle, &row, article.text.as_deref(), intent)?;
        if settle.settles {
            self.clear_copy(settle.id, run)?;
        }
        run.own
            .insert(settle.id, (row.remote.clone(), row.revision.clone()));
        run.sight.base.articles.insert(settle.id, row);
        if let Some(lost) = &warning {
            tracing::warn!(path = %action.path, "the service keeps less than it was sent: {lost}");
        }
        Ok(warning.map(|lost| format!("the service keeps less than it was sent: {lost}")))
    }

    fn write_sent(
        &mut self,
        action: &Action,
        settle: &Settle,
        row: &ArticleRow,
        text: Option<&str>,
        intent: IntentId,
    ) -> anyhow::Result<()> {
        let now = self.clock.now();
        let rewritten = row.remote != row.local;
        let earlier = self.earlier_puts(row)?;
        self.store.write(now, |tx| {
            tx.remove_intent(intent)?;
            earlier
                .into_iter()
                .try_for_each(|intent| tx.remove_intent(intent))?;
            if let Some(text) = text.filter(|_| row.remote.text != row.local.text) {
                tx.put_body(text)?;
            }
            tx.put_article(row)?;
            tx.record(&agreed(row.id, &row.place, &settle.file, "pushed"))?;
            if rewritten {
                tx.record(&SeenVersion {
                    subject: Subject::Article(row.id),
                    place: row.place.clone(),
                    side: Side::Both,
                    cause: "rewritten by the service".to_owned(),
                    version: row.remote.clone(),
                    file: None,
                })?;
            }
            if settle.settles {
                tx.remove_conflict(row.id)?;
            }
            let fields: Vec<_> = action.fields.iter().map(|field| field.key()).collect();
            tx.event(&deed(
                action.kind.word(),
                action.side,
                &action.path,
                Some(row.id),
                fields.join(", "),
            ))
        })?;
        Ok(())
    }

    /// Intents that an earlier run left of PUTs over the version that was replaced now.
    fn earlier_puts(&self, row: &ArticleRow) -> anyhow::Result<Vec<IntentId>> {
        let over_the_same = |intent: &Intent| {
            let Intent::UpdateArticle {
                id,
                over,
                over_revision,
                ..
            } = intent
            else {
                return false;
            };
            *id == row.id && row.replaced == Some((*over, over_revision.clone()))
        };
        let mut intents = self.store.intents()?;
        intents.retain(|(_, intent)| over_the_same(intent));
        Ok(intents.into_iter().map(|(intent, _)| intent).collect())
    }

    /// Frees a slug for a moment, so that two addresses can be swapped.
    pub(super) async fn park_slug(
        &mut self,
        action: &Action,
        (id, slug, seen): (ArticleId, &str, &Seen),
        run: &mut Run<'_>,
    ) -> anyhow::Result<Done> {
        let Some(row) = run.row(id).cloned() else {
            return Ok(Done::Later("its row is not there".to_owned()));
        };
        if let Some(done) = self.ensure_seen(id, seen, run).await? {
            return Ok(done);
        }
        let intent = Intent::UpdateArticle {
            id,
            version: Version {
                slug: slug.to_owned(),
                ..row.remote.clone()
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
                // Only the slug is agreed on: what else a colleague changed is still to be pulled.
                let mut remote = row.remote.clone();
                remote.slug.clone_from(&article.slug);
                // The file never said this slug: whatever it says now is an edit to be sent.
                let mut local = row.local.clone();
                local.slug.clone_from(&article.slug);
                let known = row.remote == seen.version && version_of(&article, &remote) == remote;
                let row = ArticleRow {
                    replaced: Some((seen.version.digest(), seen.revision.clone())),
                    written: Some(article.revision.clone()),
                    revision: if known {
                        article.revision.clone()
                    } else {
                        row.revision.clone()
                    },
                    remote,
                    local,
                    stamp: None,
                    ..row
                };
                let now = self.clock.now();
                self.store.write(now, |tx| {
                    tx.put_article(&row)?;
                    tx.remove_intent(intent)
                })?;
                let parked = Version {
                    slug: article.slug,
                    ..seen.version.clone()
                };
                run.own.insert(id, (parked, article.revision));
                run.sight.base.articles.insert(id, row);
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
}

/// What a PUT came to.
enum Put {
    /// It is there.
    Answered(RemoteArticle),
    /// Somebody else changed the article meanwhile; whether ours arrived before that cannot be told here.
    Changed,
    /// It was not carried out, or, if an answer was lost, perhaps not.
    Failed { error: ServiceError, lost: bool },
}

/// The version that a PUT replaces: the one that was seen, or that this run itself has made.
fn over(settle: &Settle, run: &Run<'_>) -> (Digest, Revision) {
    let own = run.own.get(&settle.id);
    let latest = run.latest.get(&settle.id);
    own.or(latest).map_or_else(
        || (settle.seen.version.digest(), settle.seen.revision.clone()),
        |(version, revision)| (version.digest(), revision.clone()),
    )
}

/// The service's version and revision for the base. A field that was not sent and is not as we saw it is a
/// colleague's edit of this very instant: the base keeps what we saw, and the revision with it, so that the
/// next cycle pulls it.
fn base_after(settle: &Settle, article: &RemoteArticle) -> (Version, Revision) {
    let mut expected = settle.seen.version.clone();
    settle
        .send
        .iter()
        .for_each(|field| expected.take(*field, &settle.file));
    let mut version = version_of(article, &expected);
    let mut revision = article.revision.clone();
    for field in Version::FIELDS {
        if !settle.send.contains(&field) && !version.agrees(&expected, field) {
            version.take(field, &expected);
            revision.clone_from(&settle.seen.revision);
        }
    }
    (version, revision)
}

/// Tells whether the service was not there; an answer that cannot be read will not be better next time.
fn is_down(error: &ServiceError) -> bool {
    error.kind == ErrorKind::Unavailable
}

/// Tells whether a write may have been carried out, or may be sent again once one has looked.
pub(super) fn worth_another_try(error: &ServiceError) -> bool {
    is_down(error) || (error.answer_lost && error.kind != ErrorKind::Unauthorized)
}

/// The same for a PUT or DELETE, which is not sent after a wait for the budget: nobody has waited for it yet.
pub(super) fn worth_another_look(error: &ServiceError) -> bool {
    is_throttled(error) || worth_another_try(error)
}

/// Tells whether a PUT or DELETE that did not arrive may be sent again.
pub(super) fn may_repeat(error: &ServiceError) -> bool {
    is_throttled(error) || is_down(error)
}

/// Tells whether a write was not carried out for want of budget, here or there: there has to be room first.
fn is_throttled(error: &ServiceError) -> bool {
    matches!(error.kind, ErrorKind::RateLimited { .. }) && !error.answer_lost
}

/// What an answer says; what it left out is as it was expected.
pub(super) fn version_of(article: &RemoteArticle, expected: &Version) -> Version {
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
