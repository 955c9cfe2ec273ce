//! Pending (in-doubt) requests: a change of the service is stored before it is sent, and after a lost response one look
//! settles it (`docs/decisions/02-pending-requests.md`).
//!
//! - A request is stored with the version to be replaced and the rows that become true. While it is pending, nothing
//!   else is sent for its article, and the article is unknown.
//! - The look is a probe, answered by the server that carries out writes. Without probes it is a GET, which a lagging
//!   replica may answer: an unchanged or missing article is then believed only in a later cycle.
//! - One transaction stores the outcome and ends the request. A request that did not arrive, or whose article changed
//!   since, only ends: the base stays, and the ordinary three-way decision follows.

mod answered;
pub(super) mod creations;

use crate::engine::backoff::{Backoff, may_probe};
use crate::engine::observation::version_with;
use crate::engine::settings::Cause;
use crate::engine::{Clock, Engine};
use crate::mirror::disk::Disk;
use crate::model::base::ArticleRow;
use crate::model::{ArticleId, Field, Revision, TextDigest, Texts, Version, html};
use crate::reconcile::plan::Problem;
use crate::service::{
    Answer, ArticlePatch, ErrorKind, Purpose, RemoteArticle, Service, ServiceError,
};
use crate::state::store::Store;
use crate::state::{Attempt, PendingRequest, PutOrDelete, StateResult, Target, Update};
use answered::{record_arrived, record_changed};
use std::time::Duration;

/// The outcome of a request, as far as a look shows it.
enum LookedUp {
    /// It was carried out and is recorded.
    Arrived(Recorded),
    /// It did not arrive: the service has the version to be replaced.
    NotArrived,
    /// The service has another version, or does not show the article.
    Changed,
    /// Unknown yet. The error, if the look failed.
    Unclear(Option<ServiceError>),
}

/// The outcome of a request in the cycle that sent it.
pub(super) enum SendOutcome {
    /// It was carried out and is recorded.
    Done(Recorded),
    /// The service did not accept it, or was not reached: no look was needed.
    NotAccepted(ServiceError),
    /// It was not carried out: a look has just shown the version to be replaced.
    NotArrived(ServiceError),
    /// The service has another version by now.
    Changed,
    /// Unknown yet: it is pending.
    Pending(ServiceError),
}

/// The record of a request that was carried out.
#[derive(Default)]
pub(super) struct Recorded {
    /// The article's row, if it has one.
    pub(super) row: Option<Box<ArticleRow>>,
    /// The fields of which the service stored less than was sent.
    pub(super) warning: Option<String>,
}

/// Settles the pending requests of earlier cycles, before the look.
pub(super) async fn settle_pending<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
) -> anyhow::Result<()> {
    let requests = pending(&engine.store)?;
    if requests.is_empty() {
        return Ok(());
    }
    let backoff = Backoff::read(&engine.store, &engine.request)?;
    for request in requests {
        let target = Target::Request(request.id());
        if engine.request.cause == Cause::Background && backoff.is_backing_off(target) {
            continue;
        }
        let purpose = engine.request.purpose;
        let LookedUp::Unclear(error) = look_up_outcome(engine, &request, purpose, true).await?
        else {
            continue;
        };
        // A look without an error, and without a sure answer, leaves only this article unknown.
        if let Some(error) = &error {
            engine.gathered.failed_look = Some(format!("a request could not be settled: {error}"));
            // An outage is no failure of this article.
            if error.stops_all() {
                break;
            }
        }
        let attempt = Attempt {
            last_asked: engine.store.now(),
            failures: backoff.failures(target).saturating_add(1),
            answer: None,
        };
        engine.store.write(|tx| tx.put_attempt(target, &attempt))?;
    }
    Ok(())
}

/// Returns the pending requests for articles that exist.
fn pending(store: &Store) -> anyhow::Result<Vec<PutOrDelete>> {
    let requests = store.pending_requests()?.into_iter();
    let requests = requests.filter_map(|(_, request)| match request {
        PendingRequest::PutOrDelete(request) => Some(request),
        PendingRequest::CreateArticle(_) => None,
    });
    Ok(requests.collect())
}

/// Returns whether a request for an article is pending: then nothing else is sent for it.
pub(super) fn is_pending(store: &Store, id: ArticleId) -> anyhow::Result<bool> {
    let requests = pending(store)?;
    Ok(requests.iter().any(|request| request.id() == id))
}

/// Stores a request before it is sent.
pub(super) fn store_request(store: &mut Store, request: &PutOrDelete) -> StateResult<()> {
    let request = PendingRequest::PutOrDelete(request.clone());
    store.write(|tx| tx.add_pending_request(&request).map(drop))
}

/// Ends a request whose outcome changes no row.
pub(super) fn end_request(store: &mut Store, id: ArticleId) -> StateResult<()> {
    store.write(|tx| tx.end_put_or_delete(id))
}

/// Sends a stored request once. After a lost response, looks at the article, unless the response is a sign-in page.
pub(super) async fn send_request<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
    request: &PutOrDelete,
) -> anyhow::Result<SendOutcome> {
    let error = match send_once(&engine.service, &engine.store, request).await? {
        Ok(answer) => {
            let recorded = record_arrived(&mut engine.store, request, answer.as_deref());
            return Ok(SendOutcome::Done(recorded?));
        }
        Err(error) => error,
    };
    if !error.response_lost {
        end_request(&mut engine.store, request.id())?;
        return Ok(SendOutcome::NotAccepted(error));
    }
    if error.kind == ErrorKind::Unauthorized {
        // The look would get the sign-in page as well.
        return Ok(SendOutcome::Pending(error));
    }
    tracing::warn!(id = %request.id(), %error, "no answer to a write; checking whether it arrived");
    engine.clock.pause(retry_wait(1)).await;
    let looked_up = look_up_outcome(engine, request, Purpose::Push, false);
    Ok(match looked_up.await? {
        LookedUp::Arrived(recorded) => SendOutcome::Done(recorded),
        LookedUp::NotArrived => SendOutcome::NotArrived(error),
        LookedUp::Changed => SendOutcome::Changed,
        LookedUp::Unclear(Some(met)) if met.stops_all() => SendOutcome::Pending(met),
        LookedUp::Unclear(_) => SendOutcome::Pending(error),
    })
}

async fn send_once(
    service: &impl Service,
    store: &Store,
    request: &PutOrDelete,
) -> anyhow::Result<Answer<Option<Box<RemoteArticle>>>> {
    match request {
        PutOrDelete::Put(update) => {
            let patch = patch(store, update)?;
            let answer = service.update_article(update.id, &patch).await;
            Ok(answer.map(|answer| Some(Box::new(answer))))
        }
        PutOrDelete::Delete(deletion) => match service.delete_article(deletion.id).await {
            // With our own request pending, this is the wanted state (failures row 16).
            Err(error) if error.kind == ErrorKind::NotFound => Ok(Ok(None)),
            answer => Ok(answer.map(|()| None)),
        },
    }
}

fn patch(store: &Store, update: &Update) -> anyhow::Result<ArticlePatch> {
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
                let text = store.body(sent.text)?;
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

/// Sends a POST, and again while the service is unavailable or the response is lost, a few times in a cycle: a slug
/// that is refused then shows that an earlier try may have arrived. Also returns whether a response was lost.
pub(super) async fn post_until_answered<T>(
    clock: &dyn Clock,
    path: &str,
    send: impl AsyncFn() -> Answer<T>,
) -> (Answer<T>, bool) {
    let (mut tries, mut is_lost) = (0, false);
    loop {
        let answer = send().await;
        let Err(error) = &answer else {
            return (answer, is_lost);
        };
        is_lost |= error.response_lost;
        if !may_post_again(error) || tries == MAX_RETRIES {
            return (answer, is_lost);
        }
        tries += 1;
        tracing::warn!(%path, %error, tries, "no answer to a POST; its slug shows whether it arrived");
        clock.pause(retry_wait(tries)).await;
    }
}

/// Waits before a retry of a request that was not carried out: for budget, if it was throttled.
pub(super) async fn wait_to_repeat(
    service: &impl Service,
    clock: &dyn Clock,
    error: &ServiceError,
    tries: u32,
) -> Answer<()> {
    if is_throttled(error) {
        return service.wait_for_room(2, Purpose::Push).await;
    }
    clock.pause(retry_wait(tries)).await;
    Ok(())
}

/// Looks up the outcome of a request, and records it. `is_later`: the request was sent in an earlier cycle.
async fn look_up_outcome<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
    request: &PutOrDelete,
    purpose: Purpose,
    is_later: bool,
) -> anyhow::Result<LookedUp> {
    let (answer, is_sure) = read_back(engine, request.id(), purpose).await?;
    let is_believed = is_sure || is_later;
    let now = match answer {
        Ok(now) => now,
        // A GET does not find hidden articles; a later cycle has nothing better to ask.
        Err(error) if error.kind == ErrorKind::NotFound && is_believed => {
            if matches!(request, PutOrDelete::Delete(_)) {
                let recorded = record_arrived(&mut engine.store, request, None)?;
                return Ok(LookedUp::Arrived(recorded));
            }
            // Absent is not deleted: the questions about absent articles decide.
            record_changed(&mut engine.store, request, None)?;
            return Ok(LookedUp::Changed);
        }
        Err(error) => return Ok(LookedUp::Unclear(Some(error))),
    };
    let Some(text) = now.text.as_deref() else {
        return Ok(LookedUp::Unclear(None));
    };
    let version = version_with(&now, TextDigest::of(text));
    if is_target_version(request, &version, &now.revision) {
        if !is_believed {
            return Ok(LookedUp::Unclear(None));
        }
        end_request(&mut engine.store, request.id())?;
        return Ok(LookedUp::NotArrived);
    }
    // A replica may lag by several versions.
    let row = engine.store.article(request.id())?;
    if !is_sure && row.is_some_and(|row| row.has_superseded(&version, &now.revision)) {
        return Ok(LookedUp::Unclear(None));
    }
    if let PutOrDelete::Put(update) = request
        && is_as_sent(&engine.store, update, &version, &now)?
    {
        let recorded = record_arrived(&mut engine.store, request, Some(&now))?;
        return Ok(LookedUp::Arrived(recorded));
    }
    record_changed(&mut engine.store, request, Some(&now))?;
    Ok(LookedUp::Changed)
}

/// Returns whether this is the version that a request is meant to replace or delete.
fn is_target_version(request: &PutOrDelete, version: &Version, revision: &Revision) -> bool {
    let (digest, of) = request.over();
    of == revision && digest.is_none_or(|digest| digest == version.digest())
}

/// Returns whether an article has the sent content.
fn is_as_sent(
    store: &Store,
    update: &Update,
    version: &Version,
    now: &RemoteArticle,
) -> anyhow::Result<bool> {
    // A response without `enabled` is that of a GET; it does not show whether the article is hidden.
    let enabled = now.flags.enabled.unwrap_or(true);
    if update.enabled.is_some_and(|sent| sent != enabled) {
        return Ok(false);
    }
    let fields = update.fields.iter();
    let differ: Vec<_> = fields
        .filter(|field| !version.agrees(&update.version, **field))
        .collect();
    match differ.as_slice() {
        [] => Ok(true),
        [Field::Text] => {
            let sent = store.body(update.version.text)?;
            let text = now.text.as_deref().unwrap_or_default();
            Ok(sent.is_some_and(|sent| html::is_same_markup(&sent, text)))
        }
        _ => Ok(false),
    }
}

/// Reads an article, by a probe if possible. The second value: whether a probe answered.
async fn read_back<S: Service, D: Disk>(
    engine: &Engine<S, D>,
    id: ArticleId,
    purpose: Purpose,
) -> anyhow::Result<(Answer<RemoteArticle>, bool)> {
    if may_probe(engine)? {
        match engine.service.probe(id, purpose).await {
            Err(error) if matches!(error.kind, ErrorKind::Forbidden | ErrorKind::Refused) => {}
            answer => return Ok((answer, true)),
        }
    }
    Ok((engine.service.article(id, purpose).await, false))
}

/// Returns the problems of articles with pending requests.
pub(super) fn pending_problems(store: &Store) -> anyhow::Result<Vec<(ArticleId, Problem)>> {
    let mut problems = Vec::new();
    for request in pending(store)? {
        let id = request.id();
        let row = store.article(id)?;
        let path = row.map(|row| row.place.to_string()).unwrap_or_default();
        problems.push((id, Problem::at(path, Some(id), PENDING)));
    }
    Ok(problems)
}

/// The reason for leaving an article with a pending request alone.
pub(super) const PENDING: &str = "it is unknown whether the last change of this article reached the service; kbsync asks \
                                  again, and leaves the article alone until then; if this goes on, save the article in the \
                                  dashboard";

/// Returns whether a POST without an answer may be sent again: its slug shows whether an earlier try arrived.
fn may_post_again(error: &ServiceError) -> bool {
    matches!(error.kind, ErrorKind::Unavailable { .. })
        || (error.response_lost && error.kind != ErrorKind::Unauthorized)
}

/// Returns whether a PUT or DELETE that did not arrive may be sent again; not after an unreadable response.
pub(super) fn may_repeat(error: &ServiceError) -> bool {
    is_throttled(error) || matches!(error.kind, ErrorKind::Unavailable { .. })
}

/// Returns whether a write was not carried out for lack of budget, ours or the service's.
fn is_throttled(error: &ServiceError) -> bool {
    matches!(error.kind, ErrorKind::RateLimited { .. }) && !error.response_lost
}

/// The number of retries of a write in one cycle, before it is left to the next one.
pub(super) const MAX_RETRIES: u32 = 4;

/// Returns the wait before a retry: a second before the first one, doubled with every further one.
fn retry_wait(tries: u32) -> Duration {
    Duration::from_secs(1).saturating_mul(1 << tries.saturating_sub(1).min(5))
}
