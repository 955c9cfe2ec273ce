//! PUT: the changed fields of one article, and what the service made of them.

use super::guard_read::changed_meanwhile;
use super::put::{Put, sent_over, version_of};
use super::record::{Sent, agreed, deed, row_after};
use super::{Done, Run, failed};
use crate::drill::defect::{self, Defect};
use crate::engine::Engine;
use crate::engine::observe::remote::visibility_of;
use crate::mirror::disk::Disk;
use crate::model::base::{ArticleRow, Visibility};
use crate::model::{Digest, Field, Flags, Revision, Side, Version, html};
use crate::reconcile::plan::{Action, Settle};
use crate::service::{ArticlePatch, RemoteArticle, Service};
use crate::state::{Intent, IntentId, Seen as SeenVersion, Subject};

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
            let Some((intent, article)) = self.arrived_before(&settle, run)? else {
                return Ok(done);
            };
            let note = self.record_sent(action, &settle, &article, intent, run)?;
            return Ok(Done::Yes(note.or_else(|| action.note.clone())));
        }
        let first = run.row(settle.id).is_none();
        if settle.touches_file()
            && let Some(done) = self.settle_first_half(action, &settle, run)?
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
            Put::Changed(by) => {
                self.note_replaced(settle, &by, run)?;
                Ok(changed_meanwhile())
            }
            Put::Failed { error, lost: true } => Ok(failed(error)),
            Put::Failed { error, lost: false } => {
                let now = self.clock.now();
                self.store.write(now, |tx| tx.remove_intent(intent))?;
                self.not_done(action, error)
            }
        }
    }

    /// A PUT of an earlier run that got no answer, was this very one, and is found to have arrived: what the service
    /// shows is its answer.
    fn arrived_before(
        &self,
        settle: &Settle,
        run: &mut Run<'_>,
    ) -> anyhow::Result<Option<(IntentId, RemoteArticle)>> {
        let Some(article) = run.unanswered.remove(&settle.id) else {
            return Ok(None);
        };
        let after = sent_over(settle, &settle.seen.version);
        let enabled = settle.send_enabled.is_none() || article.flags.enabled == settle.send_enabled;
        if settle.touches_file() || !enabled || version_of(&article, &after) != after {
            return Ok(None);
        }
        let is_this = |intent: &Intent| match intent {
            Intent::UpdateArticle {
                id,
                version,
                fields,
                enabled,
                ..
            } => {
                (*id, version, fields, *enabled)
                    == (settle.id, &settle.file, &settle.send, settle.send_enabled)
            }
            Intent::CreateArticle { .. }
            | Intent::DeleteArticle { .. }
            | Intent::CreateCategory { .. }
            | Intent::UpdateCategory { .. } => false,
        };
        let mut intents = self.store.intents()?.into_iter();
        let Some((intent, _)) = intents.find(|(_, intent)| is_this(intent)) else {
            return Ok(None);
        };
        // It replaced what was seen before, and is no colleague's.
        run.latest.remove(&settle.id);
        Ok(Some((intent, article)))
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
        let meddled = meddled_with(settle, article);
        let told = if meddled {
            Flags::default()
        } else {
            article.flags
        };
        let flags = Flags {
            enabled: told
                .enabled
                .or(settle.send_enabled)
                .or(settle.seen.flags.enabled),
            draft: told.draft.or(settle.seen.flags.draft),
        };
        let visibility = if flags.hides() {
            Visibility::Unpublished
        } else if settle.send_enabled == Some(true) {
            visibility_of(flags)
        } else {
            settle.seen.visibility
        };
        let sent = Sent {
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
        let mut row = row_after(run.row_for(settle), settle, stamp, lf, Some(&sent));
        if meddled {
            // It is not as we left it: the next look at it tells what it is.
            row.revision.clone_from(&settle.seen.revision);
            row.written = None;
        }
        self.ask_again(settle.id, meddled);
        self.write_sent(action, settle, &row, article.text.as_deref(), intent)?;
        if settle.settles {
            self.clear_copies(settle.id, run)?;
        }
        run.wrote(settle.id, row.remote.clone(), row.revision.clone());
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

    /// What was seen after a PUT without an answer is newer than what that was to replace, unless it was there before.
    fn note_replaced(
        &mut self,
        settle: &Settle,
        (version, revision): &(Version, Revision),
        run: &mut Run<'_>,
    ) -> anyhow::Result<()> {
        let over = over(settle, run);
        let before = self.store.knew(settle.id, version.digest(), Side::Remote)?;
        let Some(mut row) = self.store.article(settle.id)? else {
            return Ok(());
        };
        if before.is_some() || *revision == over.1 {
            return Ok(());
        }
        row.was_replaced(over, revision);
        let now = self.clock.now();
        self.store.write(now, |tx| tx.put_article(&row))?;
        run.sight.base.articles.insert(settle.id, row);
        Ok(())
    }

    /// Intents that an earlier run left of PUTs over the version that was replaced now.
    pub(super) fn earlier_puts(&self, row: &ArticleRow) -> anyhow::Result<Vec<IntentId>> {
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
}

/// The version that a PUT replaces: the one that was seen, or that this run itself has made.
fn over(settle: &Settle, run: &Run<'_>) -> (Digest, Revision) {
    let own = run.own.get(&settle.id);
    let latest = run.latest.get(&settle.id);
    let (version, revision) = own.or(latest).map_or_else(
        || (&settle.seen.version, &settle.seen.revision),
        |(version, revision)| (version, revision),
    );
    match run.row(settle.id) {
        // An old copy, from before our own last write: what is replaced is what that left.
        Some(row) if row.has_replaced(version, revision) => {
            let left = row.written.as_ref().unwrap_or(&row.revision);
            (row.remote.digest(), left.clone())
        }
        Some(_) | None => (version.digest(), revision.clone()),
    }
}

/// Returns whether a colleague published or hid the article in this very instant: the base keeps what we saw, so that
/// the next cycle finds it.
fn meddled_with(settle: &Settle, article: &RemoteArticle) -> bool {
    let (told, seen) = (article.flags, settle.seen.flags);
    (settle.send_enabled.is_none() && differ(told.enabled, seen.enabled))
        || differ(told.draft, seen.draft)
}

/// Returns whether what is told of `enabled` or `draft` is not what was known of it.
pub(super) fn differ(told: Option<bool>, known: Option<bool>) -> bool {
    told.zip(known).is_some_and(|(told, known)| told != known)
}

/// The service's version and revision for the base. A field that was not sent and is not as we saw it is a
/// colleague's edit of this very instant: the base keeps what we saw, and the revision with it, so that the
/// next cycle pulls it.
fn base_after(settle: &Settle, article: &RemoteArticle) -> (Version, Revision) {
    let expected = sent_over(settle, &settle.seen.version);
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
