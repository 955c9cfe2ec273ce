//! PUT: the changed fields of one article, and what the service made of them.

use super::record::{Sent, agreed, deed, row_after};
use super::{Done, Run, failed};
use crate::engine::Engine;
use crate::engine::Stop;
use crate::engine::observe::remote::visibility_of;
use crate::engine::report::Status;
use crate::mirror::disk::Disk;
use crate::model::base::{ArticleRow, Visibility};
use crate::model::{ArticleId, Field, Flags, Side, TextDigest, Version, html};
use crate::reconcile::plan::{Action, Kind, Settle, Step};
use crate::service::{ArticlePatch, ErrorKind, RemoteArticle, Service, ServiceError};
use crate::state::{Intent, Seen as SeenVersion, Subject};
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
        if settle.touches_file() {
            let mut local = settle.clone();
            local.send.clear();
            local.send_enabled = None;
            let step = Action {
                kind: Kind::Update,
                side: Side::Local,
                step: Step::Settle(Box::new(local)),
                ..action.clone()
            };
            let before = run.report.actions.len();
            self.settle_files(vec![step], run).await?;
            // The one line of this article is written when it is sent.
            let line = run.report.actions.drain(before..).next_back();
            if let Some(line) = line.filter(|line| line.status != Status::Done) {
                let reason = line.reason.unwrap_or_default();
                return Ok(if line.status == Status::Failed {
                    Done::Failed(reason)
                } else {
                    Done::Later(reason)
                });
            }
        }
        self.send(action, &settle, run).await
    }

    async fn send(
        &mut self,
        action: &Action,
        settle: &Settle,
        run: &mut Run<'_>,
    ) -> anyhow::Result<Done> {
        let patch = self.patch(settle, run)?;
        let over = run.own.get(&settle.id);
        let (over, over_revision) = over.map_or_else(
            || (settle.seen.version.digest(), settle.seen.revision.clone()),
            |(version, revision)| (version.digest(), revision.clone()),
        );
        let intent = Intent::UpdateArticle {
            id: settle.id,
            version: settle.file.clone(),
            fields: settle.send.clone(),
            enabled: settle.send_enabled,
            over,
            over_revision,
        };
        let now = self.clock.now();
        let first = run.row(settle.id).is_none();
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
        let answer = self.put(settle.id, &patch, settle, run).await?;
        match answer {
            Ok(article) => {
                let note = self.record_sent(action, settle, &article, run)?;
                let now = self.clock.now();
                self.store.write(now, |tx| tx.remove_intent(intent))?;
                Ok(Done::Yes(note.or_else(|| action.note.clone())))
            }
            Err(error) if error.answer_lost => {
                // The intent stays: the next run finds out what became of it.
                Ok(Done::Stopped(Stop::of(error)))
            }
            Err(error) => {
                let now = self.clock.now();
                self.store.write(now, |tx| tx.remove_intent(intent))?;
                match error.kind {
                    ErrorKind::Refused | ErrorKind::Forbidden | ErrorKind::TooLarge => {
                        self.refused(action, &error)
                    }
                    ErrorKind::Unauthorized
                    | ErrorKind::NotFound
                    | ErrorKind::RateLimited { .. }
                    | ErrorKind::BudgetSpent { .. }
                    | ErrorKind::Unavailable
                    | ErrorKind::Unreadable
                    | ErrorKind::NoEndpoint => Ok(failed(error)),
                }
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
    ) -> anyhow::Result<Result<RemoteArticle, ServiceError>> {
        let mut tries = 0;
        loop {
            let error = match self.service.update_article(id, patch).await {
                Ok(article) => return Ok(Ok(article)),
                Err(error) if error.kind == ErrorKind::Unavailable && tries < TRIES => error,
                Err(error) => return Ok(Err(error)),
            };
            tries += 1;
            tracing::warn!(%id, %error, tries, "no answer to a PUT; looking whether it arrived");
            self.clock.pause(pause(tries)).await;
            let Ok(found) = self.read_one(id, settle.seen.visibility).await else {
                return Ok(Err(error));
            };
            let version = version_of(&found, &settle.seen.version);
            let arrived = settle
                .send
                .iter()
                .all(|field| version.agrees(&settle.file, *field))
                && settle.send_enabled.is_none();
            if arrived && !settle.send.is_empty() {
                return Ok(Ok(found));
            }
            let expected = run
                .own
                .get(&id)
                .map_or(&settle.seen.version, |(version, _)| version);
            if version != *expected {
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
        run: &mut Run<'_>,
    ) -> anyhow::Result<Option<String>> {
        let mut expected = settle.seen.version.clone();
        settle
            .send
            .iter()
            .for_each(|field| expected.take(*field, &settle.file));
        let version = version_of(article, &expected);
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
            revision: article.revision.clone(),
            flags,
            visibility,
        };
        let stamp = run
            .row(settle.id)
            .filter(|row| row.place == settle.to)
            .and_then(|row| row.stamp);
        let scanned = run.sight.stamps.get(&settle.to).copied();
        let stamp = if settle.touches_file() {
            self.file_stamp(settle)
        } else {
            scanned.or(stamp)
        };
        let stamp = stamp.and_then(|stamp| self.trusted(stamp));
        let lf = run.sight.text_lf.get(&settle.file.text).copied();
        let row = row_after(run.row(settle.id), settle, stamp, lf, Some(&sent));
        self.write_sent(action, settle, &row, article.text.as_deref())?;
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
    ) -> anyhow::Result<()> {
        let now = self.clock.now();
        let rewritten = row.remote != row.local;
        self.store.write(now, |tx| {
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

    fn file_stamp(&self, settle: &Settle) -> Option<crate::model::Stamp> {
        use crate::mirror::disk::At;
        let entry = self
            .disk
            .look(At::Folder(&settle.to.folder), &settle.to.file)
            .ok()
            .flatten()?;
        Some(entry.stamp)
    }

    /// Frees a slug for a moment, so that two addresses can be swapped.
    pub(super) async fn park_slug(
        &mut self,
        id: ArticleId,
        slug: &str,
        run: &mut Run<'_>,
    ) -> anyhow::Result<Done> {
        let Some(row) = run.row(id).cloned() else {
            return Ok(Done::Later("its row is not there".to_owned()));
        };
        let version = Version {
            slug: slug.to_owned(),
            ..row.remote.clone()
        };
        let intent = Intent::UpdateArticle {
            id,
            version: version.clone(),
            fields: vec![Field::Slug],
            enabled: None,
            over: row.remote.digest(),
            over_revision: row.revision.clone(),
        };
        let now = self.clock.now();
        let intent = self.store.write(now, |tx| tx.add_intent(&intent))?;
        let patch = ArticlePatch {
            slug: Some(slug.to_owned()),
            ..ArticlePatch::default()
        };
        match self.service.update_article(id, &patch).await {
            Ok(article) => {
                let remote = version_of(&article, &version);
                let row = ArticleRow {
                    replaced: Some((row.remote.digest(), row.revision.clone())),
                    written: Some(article.revision.clone()),
                    revision: article.revision,
                    remote,
                    ..row
                };
                let now = self.clock.now();
                self.store.write(now, |tx| {
                    tx.put_article(&row)?;
                    tx.remove_intent(intent)
                })?;
                run.own
                    .insert(id, (row.remote.clone(), row.revision.clone()));
                run.sight.base.articles.insert(id, row);
                Ok(Done::Yes(None))
            }
            Err(error) => {
                if !error.answer_lost {
                    let now = self.clock.now();
                    self.store.write(now, |tx| tx.remove_intent(intent))?;
                }
                Ok(failed(error))
            }
        }
    }
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
