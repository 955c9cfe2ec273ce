//! Asks for the articles that left the listing, and notes the answers.
//!
//! Absent is not deleted: a published article is gone only when a GET and a probe both say so, a hidden one when the
//! probe does, because a GET may not show it. See `docs/decisions/10-absent-is-not-deleted.md`.

use super::questions::{self, Question};
use super::stale_reads::believe;
use crate::engine::Engine;
use crate::engine::backoff::{Backoff, StoredAnswer, may_probe};
use crate::engine::listing::{take_seen, visibility_of};
use crate::engine::observation::Observation;
use crate::engine::open_actions;
use crate::engine::ports::{begin_phase, report_done};
use crate::engine::settings::Settings;
use crate::mirror::disk::Disk;
use crate::model::ArticleId;
use crate::model::base::{ArticleRow, Visibility};
use crate::reconcile::snapshot::{Base, Policy, Remote};
use crate::service::{ErrorKind, RemoteArticle, Service, ServiceError};
use crate::state::Target;
use crate::state::store::Store;

/// Asks for articles that left the listing, for known drafts now and then, and for unknown ids. Returns whether there
/// was anything to ask.
pub(super) async fn ask_absent<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
    observed: &mut Observation,
) -> anyhow::Result<bool> {
    if !observed.remote.complete {
        return Ok(false);
    }
    let questions = select_questions(&engine.store, &engine.settings, observed)?;
    if !questions.is_empty() {
        begin_phase(
            &engine.teller,
            "asking for absent articles",
            Some(questions.len()),
            2,
        );
    }
    for (done, question) in questions.iter().enumerate() {
        let asked = ask(engine, *question, observed.row(question.id)).await?;
        match asked {
            // Without probes the listing is the best answer, and it has the article.
            Ok(Remote::NotVisible(_)) if question.listed && !may_probe(engine)? => {}
            Ok(answer) => {
                let listed_before = question.get && observed.row(question.id).is_some();
                if listed_before && shows_a_gap(&answer) {
                    let gap = "the listing left out an article that can be read";
                    observed.doubt.get_or_insert_with(|| gap.to_owned());
                }
                observed.service.validator_unsafe |= !question.listed && is_published(&answer);
                let row = observed.base.articles.get_mut(&question.id);
                if let (Remote::Present(seen), Some(row)) = (&answer, row)
                    && (question.listed || !is_published(&answer))
                {
                    // Only a probe shows a hidden article.
                    believe(&mut engine.store, row, seen)?;
                }
                store_visibility(&mut engine.store, &mut observed.base, question.id, &answer)?;
                let file = observed.paired.files.get(&question.id);
                let noted = StoredAnswer::Article {
                    remote: answer.clone(),
                    file: file.map(|file| file.version.digest()),
                };
                engine
                    .gathered
                    .answers
                    .note(Target::Article(question.id), noted);
                observed.remote.articles.insert(question.id, answer);
            }
            Err(error) => {
                let Some(error) = observed.take_error(question.id, error) else {
                    break;
                };
                let why = format!("the service cannot say whether this article is there: {error}");
                observed.note_problem(question.id, why);
                let unknown = Remote::Unknown(error.to_string());
                observed.remote.articles.insert(question.id, unknown);
            }
        }
        report_done(&engine.teller, done + 1);
    }
    for row in observed.base.articles.values() {
        observed
            .remote
            .articles
            .entry(row.id)
            .or_insert_with(|| Remote::Unknown("it was not asked for in this cycle".to_owned()));
    }
    Ok(!questions.is_empty())
}

/// The result of one question: an answer, or an error that may end all questions.
type Asked = Result<Remote, ServiceError>;

/// Asks for one article: GET where it may be published, then a probe.
pub(super) async fn ask<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
    question: Question,
    row: Option<&ArticleRow>,
) -> anyhow::Result<Asked> {
    // A GET may show disabled articles: then only a probe shows why one is not listed.
    let mut read = None;
    if question.get {
        match engine
            .service
            .article(question.id, engine.request.purpose)
            .await
        {
            // An article in the revision that we deleted is a stale read.
            Ok(article) => {
                let is_old = engine.store.is_buried(question.id, &article.revision)?;
                read = Some(article).filter(|_| !is_old);
            }
            Err(error) if is_not_found(&error) => {}
            Err(error) if error.stops_all() => return Ok(Err(error)),
            Err(error) => return Ok(Ok(Remote::NotVisible(error.to_string()))),
        }
    }
    if !may_probe(engine)? {
        if let Some(article) = read {
            return take_answer(engine, article, Visibility::Published, row).map(Ok);
        }
        return Ok(Ok(Remote::NotVisible(
            "it is not listed, and probing is off".to_owned(),
        )));
    }
    match engine
        .service
        .probe(question.id, engine.request.purpose)
        .await
    {
        Ok(article) => {
            // An article that is not listed although nothing hides it is asked about again after a day.
            let visibility = if question.listed {
                visibility_of(article.flags)
            } else {
                Visibility::Unpublished
            };
            take_answer(engine, article, visibility, row).map(Ok)
        }
        Err(error) if error.stops_all() => Ok(Err(error)),
        Err(error) => {
            if matches!(error.kind, ErrorKind::Forbidden | ErrorKind::Refused) {
                engine
                    .gathered
                    .answers
                    .stop_probing(&mut engine.store, &error)?;
            }
            match read {
                Some(article) => take_answer(engine, article, Visibility::Published, row).map(Ok),
                None if is_not_found(&error) => Ok(Ok(Remote::Gone)),
                None => Ok(Ok(Remote::NotVisible(error.to_string()))),
            }
        }
    }
}

/// Stores the figures and the body of an answer, and makes an observation of it.
pub(super) fn take_answer<S, D>(
    engine: &mut Engine<S, D>,
    mut article: RemoteArticle,
    visibility: Visibility,
    row: Option<&ArticleRow>,
) -> anyhow::Result<Remote> {
    let id = article.id;
    if article.text.is_none() {
        return Ok(Remote::Unknown("the answer has no body".to_owned()));
    }
    let figures = article.figures.take();
    let figures = figures.map(|figures| (id, figures));
    engine.gathered.figures.extend(figures);
    let seen = take_seen(article, visibility, row, &mut engine.store)?;
    engine.store.flush_bodies()?;
    Ok(Remote::Present(seen))
}

/// Only the service's own 404 counts, not a proxy's.
fn is_not_found(error: &ServiceError) -> bool {
    error.kind == ErrorKind::NotFound
}

/// Returns the articles to ask for, and adds the answers that are known without a request.
fn select_questions(
    store: &Store,
    settings: &Settings,
    observed: &mut Observation,
) -> anyhow::Result<Vec<Question>> {
    let limit = settings.max_deletes.limit(observed.base.articles.len());
    let approved = open_actions::approved(store)?;
    let backoff = Backoff::read(store, &observed.request)?;
    let rules = questions::Rules {
        limit: if observed.request.allow_deletes {
            usize::MAX
        } else {
            limit
        },
        approved: &approved,
        backoff: &backoff,
    };
    let listed = &observed.remote.articles;
    let mut absent = questions::classify_absent(&observed.base, &observed.paired, listed, &rules);
    observed.remote.articles.append(&mut absent.known);
    observed.service.read_first.append(&mut absent.read_first);
    let listed = &mut observed.remote.articles;
    let doubtful = questions::listed_but_disabled(&observed.base, listed, &backoff);
    absent.ask.extend(doubtful.into_iter().map(|id| Question {
        id,
        get: false,
        listed: true,
    }));
    let policy = settings.policy(&observed.request);
    absent
        .ask
        .retain(|question| in_scope(observed, &policy, question.id));
    Ok(absent.ask)
}

/// Stores at once that an article is gone or not visible.
pub(super) fn store_visibility(
    store: &mut Store,
    base: &mut Base,
    id: ArticleId,
    answer: &Remote,
) -> anyhow::Result<()> {
    let visibility = match answer {
        Remote::Gone => Visibility::Gone,
        Remote::NotVisible(_) => Visibility::NotVisible,
        Remote::Present(_) | Remote::Unknown(_) | Remote::Foreign => return Ok(()),
    };
    let row = base.articles.get_mut(&id);
    let Some(row) = row.filter(|row| row.visibility != visibility) else {
        return Ok(());
    };
    row.visibility = visibility;
    store.write_unless_dry_run(|tx| tx.put_article(row))?;
    Ok(())
}

/// Returns whether an answer shows a published article.
fn is_published(answer: &Remote) -> bool {
    let seen = answer.present();
    seen.is_some_and(|seen| seen.visibility == Visibility::Published)
}

/// Returns whether an answer shows a gap in the listing: nothing hides the article, so other missing articles may exist
/// as well.
fn shows_a_gap(answer: &Remote) -> bool {
    answer.present().is_some_and(|seen| !seen.flags.hides())
}

fn in_scope(observed: &Observation, policy: &Policy, id: ArticleId) -> bool {
    let row = observed.row(id);
    let file = observed.paired.files.get(&id);
    row.is_some_and(|row| policy.scope.covers(&row.place))
        || file.is_some_and(|file| policy.scope.covers(&file.place))
}
