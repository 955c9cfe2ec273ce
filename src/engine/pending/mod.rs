//! Pending requests: what changes the service is stored before it is sent, and one look settles what got no answer
//! (`docs/decisions/02-pending-requests.md`).
//!
//! - A request is stored with the version that it is meant to replace and the rows that become true. While it is
//!   pending, nothing else is sent for its article, and nobody knows what the article is.
//! - The look is a probe: it is answered by whoever carries out writes. A GET, where probes are off, may be answered by a
//!   replica that lags: what it shows as it was, or does not find, is believed in a later cycle only.
//! - The outcome and the end of the request are one transaction. What did not arrive, or was changed since, only ends: the
//!   ordinary three-way decision follows, with the base as it was.

use super::Engine;
use super::apply::version_of;
use super::settings::Request;
use crate::drill::defect::{self, Defect};
use crate::mirror::disk::Disk;
use crate::model::base::{ArticleRow, Visibility};
use crate::model::{ArticleId, Field, Side, TextDigest, Version, html};
use crate::reconcile::plan::Problem;
use crate::service::{
    Answer, ArticlePatch, ErrorKind, Purpose, RemoteArticle, Service, ServiceError,
};
use crate::state::{
    Attempt, Intent, IntentId, RowChange, Seen as SeenVersion, Subject, Target, Update,
};
use std::time::Duration;

/// How often a cycle looks after a lost answer before the request waits for the next one.
const LOOKS: u32 = 2;

/// When a look is made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    /// The service has refused the request so far: nothing was carried out, and a GET will do.
    NotSent,
    /// An answer was lost in this cycle.
    AtOnce,
    /// An answer was lost in an earlier cycle.
    Later,
}

/// What a look says of a request.
enum Found {
    /// The service has what was sent.
    Arrived(RemoteArticle),
    /// The service has what the request was to replace.
    NotArrived,
    /// The service has something else; `None`: nothing that it shows.
    Changed(Option<Box<RemoteArticle>>),
    /// Nobody can tell yet. The error, if the look got no answer.
    Unclear(Option<ServiceError>),
}

/// What became of a request in the cycle that sent it.
pub(super) enum Sent {
    /// It was carried out and is recorded. What the service keeps less than it was sent, if anything.
    Done {
        row: Option<Box<ArticleRow>>,
        answer: Box<RemoteArticle>,
        warning: Option<String>,
    },
    /// It was not carried out.
    NotDone(ServiceError),
    /// The service has something else by now.
    Changed,
    /// Nobody can tell yet: it is pending.
    Pending(ServiceError),
}

impl<S: Service, D: Disk> Engine<S, D> {
    /// Settles the requests that an earlier cycle left without an answer, before anything is observed.
    pub(super) async fn settle_pending(&mut self, request: &Request) -> anyhow::Result<()> {
        let updates = self.pending_updates()?;
        if updates.is_empty() {
            return Ok(());
        }
        let backoff = self.backoff(request)?;
        for (pending, update) in updates {
            let target = Target::Request(update.id);
            if request.patient && backoff.rests(target) {
                continue;
            }
            match self
                .look_after(&update, request.purpose, When::Later)
                .await?
            {
                Found::Arrived(answer) => {
                    self.record_update(pending, &update, &answer)?;
                }
                Found::NotArrived => self.end_request(pending, update.id)?,
                Found::Changed(now) => {
                    self.record_changed(pending, &update, now.as_deref())?;
                }
                Found::Unclear(error) => {
                    let attempt = Attempt {
                        last_asked: self.clock.now(),
                        failures: backoff.failures(target).saturating_add(1),
                        answer: None,
                    };
                    let now = self.clock.now();
                    self.store
                        .write(now, |tx| tx.put_attempt(target, &attempt))?;
                    if error.is_some_and(|error| error.stops_all()) {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the PUTs whose outcome is not known.
    pub(super) fn pending_updates(&self) -> anyhow::Result<Vec<(IntentId, Update)>> {
        let intents = self.store.intents()?.into_iter();
        let updates = intents.filter_map(|(pending, intent)| match intent {
            Intent::UpdateArticle(update) => Some((pending, update)),
            Intent::CreateArticle { .. }
            | Intent::DeleteArticle { .. }
            | Intent::CreateCategory { .. }
            | Intent::UpdateCategory { .. } => None,
        });
        Ok(updates.collect())
    }

    /// Returns whether the outcome of a PUT to an article is not known: nothing else is sent for it.
    pub(super) fn is_pending(&self, id: ArticleId) -> anyhow::Result<bool> {
        let updates = self.pending_updates()?;
        Ok(updates.iter().any(|(_, update)| update.id == id))
    }

    /// Stores an update and sends it. After a lost answer the article is looked at, and the update is repeated only over the
    /// version that it was meant for.
    pub(super) async fn send_update(&mut self, update: Update) -> anyhow::Result<Sent> {
        let patch = self.patch(&update)?;
        let now = self.clock.now();
        let intent = Intent::UpdateArticle(update.clone());
        let pending = self.store.write(now, |tx| tx.add_intent(&intent))?;
        let (mut looks, mut is_lost) = (0, false);
        loop {
            let error = match self.service.update_article(update.id, &patch).await {
                Ok(answer) => return self.record_update(pending, &update, &answer),
                Err(error) => error,
            };
            is_lost |= error.answer_lost;
            let mut found = Found::Unclear(None);
            if worth_another_look(&error) && looks < LOOKS {
                looks += 1;
                if let Err(error) = self.before_another_look(&error, looks, is_lost).await {
                    return self.not_sent(pending, update.id, error, is_lost);
                }
                if defect::is(Defect::PutRepeatedBlindly) {
                    continue;
                }
                let when = if is_lost { When::AtOnce } else { When::NotSent };
                found = self.look_after(&update, Purpose::Push, when).await?;
            }
            match found {
                Found::Arrived(answer) => return self.record_update(pending, &update, &answer),
                Found::NotArrived if may_repeat(&error) => {}
                Found::Changed(now) => {
                    self.record_changed(pending, &update, now.as_deref())?;
                    return Ok(Sent::Changed);
                }
                Found::NotArrived | Found::Unclear(_) => {
                    return self.not_sent(pending, update.id, error, is_lost);
                }
            }
        }
    }

    fn not_sent(
        &mut self,
        pending: IntentId,
        id: ArticleId,
        error: ServiceError,
        is_lost: bool,
    ) -> anyhow::Result<Sent> {
        if is_lost {
            return Ok(Sent::Pending(error));
        }
        self.end_request(pending, id)?;
        Ok(Sent::NotDone(error))
    }

    fn end_request(&mut self, pending: IntentId, id: ArticleId) -> anyhow::Result<()> {
        let now = self.clock.now();
        self.store.write(now, |tx| {
            tx.remove_intent(pending)?;
            tx.remove_attempt(Target::Request(id))
        })?;
        Ok(())
    }

    fn patch(&self, update: &Update) -> anyhow::Result<ArticlePatch> {
        let sent = &update.version;
        let mut patch = ArticlePatch {
            enabled: update.enabled,
            ..ArticlePatch::default()
        };
        for field in &update.fields {
            match field {
                Field::Title => patch.title = Some(sent.title.clone()),
                Field::Slug => patch.slug = Some(sent.slug.clone()),
                Field::Category => patch.category = Some(sent.category),
                Field::Introtext => patch.introtext = Some(sent.introtext.clone()),
                Field::Keywords => patch.keywords = Some(sent.keywords.clone()),
                Field::Text => {
                    let text = self.store.body(sent.text)?;
                    let Some(text) = text else {
                        anyhow::bail!("failed to find the body {} in the state", sent.text);
                    };
                    patch.text = Some(text);
                }
                Field::Enabled
                | Field::Draft
                | Field::Name
                | Field::Description
                | Field::MetaDescription => {}
            }
        }
        Ok(patch)
    }

    /// Waits after a write that failed, before one looks what became of it: for room for the look and another
    /// try where it was not sent for want of budget, else a little.
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

    /// Looks what became of an update.
    async fn look_after(
        &self,
        update: &Update,
        purpose: Purpose,
        when: When,
    ) -> anyhow::Result<Found> {
        let (answer, is_sure) = self.look_at(update.id, purpose, when).await?;
        let now = match answer {
            Ok(now) => now,
            // Absent is not deleted: the questions about absent articles tell. What a GET does not find may be hidden, by
            // this very update; a later cycle has nothing better to ask.
            Err(error) if error.kind == ErrorKind::NotFound && (is_sure || when == When::Later) => {
                return Ok(Found::Changed(None));
            }
            Err(error) => return Ok(Found::Unclear(Some(error))),
        };
        let Some(text) = now.text.as_deref() else {
            return Ok(Found::Unclear(None));
        };
        let version = version_of(&now, &update.version);
        if (version.digest(), &now.revision) == (update.over, &update.over_revision) {
            return Ok(if is_sure || when != When::AtOnce {
                Found::NotArrived
            } else {
                Found::Unclear(None)
            });
        }
        // A replica may be behind by several versions.
        let row = self.store.article(update.id)?;
        let is_old = row.is_some_and(|row| row.has_replaced(&version, &now.revision));
        if is_old && !is_sure {
            return Ok(Found::Unclear(None));
        }
        // A GET shows what nothing hides.
        let enabled = now.flags.enabled.or((!is_sure).then_some(true));
        let is_same_text = || -> anyhow::Result<bool> {
            let sent = self.store.body(update.version.text)?;
            Ok(sent.is_some_and(|sent| html::is_same_markup(&sent, text)))
        };
        let mut is_sent = update.enabled.is_none_or(|sent| enabled == Some(sent));
        for field in &update.fields {
            is_sent = is_sent
                && (version.agrees(&update.version, *field)
                    || *field == Field::Text && is_same_text()?);
        }
        Ok(if is_sent {
            Found::Arrived(now)
        } else {
            Found::Changed(Some(Box::new(now)))
        })
    }

    /// Reads an article, by a probe where that is possible. The second value says whether the answer is that of a probe.
    async fn look_at(
        &self,
        id: ArticleId,
        purpose: Purpose,
        when: When,
    ) -> anyhow::Result<(Answer<RemoteArticle>, bool)> {
        if when == When::NotSent {
            match self.service.article(id, purpose).await {
                Err(error) if error.kind == ErrorKind::NotFound => {}
                answer => return Ok((answer, false)),
            }
        }
        if self.may_probe()? {
            match self.service.probe(id, purpose).await {
                Err(error) if matches!(error.kind, ErrorKind::Forbidden | ErrorKind::Refused) => {}
                answer => return Ok((answer, true)),
            }
        }
        Ok((self.service.article(id, purpose).await, false))
    }

    /// Records what an update made, and ends it.
    fn record_update(
        &mut self,
        pending: IntentId,
        update: &Update,
        answer: &RemoteArticle,
    ) -> anyhow::Result<Sent> {
        let rows = rows_after(update, answer);
        let text = answer.text.as_deref();
        let text = text.filter(|text| TextDigest::of(text) != update.version.text);
        let mut warning = None;
        if let Some(text) = text.filter(|_| update.fields.contains(&Field::Text)) {
            let sent = self.store.body(update.version.text)?;
            warning = sent.and_then(|sent| html::shrank(&sent, text));
        }
        if let Some(lost) = &warning {
            tracing::warn!(id = %update.id, "the service keeps less than it was sent: {lost}");
        }
        let now = self.clock.now();
        self.store.write(now, |tx| {
            tx.remove_intent(pending)?;
            tx.remove_attempt(Target::Request(update.id))?;
            if let Some(text) = text {
                tx.put_body(text)?;
            }
            rows.iter().try_for_each(|row| tx.apply(row))
        })?;
        let row = rows.into_iter().find_map(|row| {
            if let RowChange::Article(row) = row {
                Some(row)
            } else {
                None
            }
        });
        Ok(Sent::Done {
            row,
            answer: Box::new(answer.clone()),
            warning,
        })
    }

    /// Ends an update over whose article something else was written. What it was to replace is not there any more: should
    /// the service show that again, it is behind.
    fn record_changed(
        &mut self,
        pending: IntentId,
        update: &Update,
        now: Option<&RemoteArticle>,
    ) -> anyhow::Result<()> {
        let row = self.store.article(update.id)?;
        let at = self.clock.now();
        self.store.write(at, |tx| {
            tx.remove_intent(pending)?;
            tx.remove_attempt(Target::Request(update.id))?;
            // A hidden article is asked for at once.
            tx.remove_attempt(Target::Article(update.id))?;
            let Some(mut row) = row else {
                return Ok(());
            };
            if let Some(now) = now
                && let Some(text) = &now.text
            {
                tx.put_body(text)?;
                tx.record(&SeenVersion {
                    subject: Subject::Article(row.id),
                    place: row.place.clone(),
                    side: Side::Remote,
                    cause: "edited on the service".to_owned(),
                    version: version_of(now, &row.remote),
                    file: None,
                })?;
            }
            let over = (update.over, update.over_revision.clone());
            let by = now.map(|now| now.revision.clone()).unwrap_or_default();
            if by != over.1 {
                row.was_replaced(over, &by);
                tx.put_article(&row)?;
            }
            Ok(())
        })?;
        Ok(())
    }

    /// What is said of the articles whose requests are pending.
    pub(super) fn pending_problems(&self) -> anyhow::Result<Vec<(ArticleId, Problem)>> {
        let mut problems = Vec::new();
        for (_, update) in self.pending_updates()? {
            let row = self.store.article(update.id)?;
            let problem = Problem {
                path: row.map(|row| row.place.to_string()).unwrap_or_default(),
                id: Some(update.id),
                message: PENDING.to_owned(),
            };
            problems.push((update.id, problem));
        }
        Ok(problems)
    }
}

/// What is said of an article whose request is pending.
pub(super) const PENDING: &str = "the service has not said whether the last update of this article arrived; kbsync asks \
                                  again, and changes nothing until then; if this goes on, save the article in the \
                                  dashboard";

/// The rows that are true once the service has answered: those of the request, with what the service made of it.
///
/// A field that was not sent and is not as it was seen is a colleague's edit of this very instant: the base has what was
/// seen, and its revision, so that the next cycle pulls the edit.
fn rows_after(update: &Update, answer: &RemoteArticle) -> Vec<RowChange> {
    let mut rows = Vec::with_capacity(update.rows.len() + 1);
    let mut rewritten: Option<Version> = None;
    for change in &update.rows {
        if let RowChange::Article(row) = change {
            let row = as_answered(update, (**row).clone(), answer);
            rewritten = Some(row.remote.clone()).filter(|remote| *remote != row.local);
            rows.push(RowChange::Article(Box::new(row)));
            continue;
        }
        rows.push(change.clone());
        if let RowChange::Version(sent) = change
            && let Some(version) = rewritten.take()
        {
            rows.push(RowChange::Version(Box::new(SeenVersion {
                cause: "rewritten by the service".to_owned(),
                version,
                ..(**sent).clone()
            })));
        }
    }
    rows
}

fn as_answered(update: &Update, mut row: ArticleRow, answer: &RemoteArticle) -> ArticleRow {
    let answered = version_of(answer, &row.remote);
    let mut is_ours = true;
    for field in Version::FIELDS {
        if update.fields.contains(&field) {
            row.remote.take(field, &answered);
        } else {
            is_ours &= answered.agrees(&row.remote, field);
        }
    }
    if defect::is(Defect::EchoIsAnEdit) {
        row.remote = row.local.clone();
    }
    // A colleague published or hid it in this very instant.
    let (told, known) = (answer.flags, row.remote_flags);
    let is_shown_otherwise = (update.enabled.is_none() && differ(told.enabled, known.enabled))
        || differ(told.draft, known.draft);
    if !is_shown_otherwise {
        row.remote_flags.enabled = told.enabled.or(known.enabled);
        row.remote_flags.draft = told.draft.or(known.draft);
    }
    if row.remote_flags.hides() {
        row.visibility = Visibility::Unpublished;
    } else if update.enabled == Some(true) {
        row.visibility = Visibility::Published;
    }
    let over = (update.over, update.over_revision.clone());
    row.was_replaced(over, &answer.revision);
    if defect::is(Defect::StaleReadReverts) {
        (row.replaced, row.earlier) = (None, Vec::new());
    }
    row.written = (!is_shown_otherwise).then(|| answer.revision.clone());
    if is_ours && !is_shown_otherwise {
        row.revision = answer.revision.clone();
    }
    row
}

/// Returns whether what is told of `enabled` or `draft` is not what was known of it.
fn differ(told: Option<bool>, known: Option<bool>) -> bool {
    told.zip(known).is_some_and(|(told, known)| told != known)
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

/// A pause that doubles with every try.
pub(super) fn pause(tries: u32) -> Duration {
    Duration::from_millis(500).saturating_mul(1 << tries.min(6))
}

#[cfg(test)]
mod tests;
