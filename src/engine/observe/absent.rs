//! Asking for the articles that left the listing, and remembering the answers.

use super::questions::{self, ask};
use crate::engine::Engine;
use crate::engine::backoff::{Answer, Backoff};
use crate::engine::observation::Observation;
use crate::engine::ports::{begin_phase, report_done};
use crate::engine::settings::Settings;
use crate::mirror::disk::Disk;
use crate::model::ArticleId;
use crate::model::base::Visibility;
use crate::reconcile::pairing::Paired;
use crate::reconcile::snapshot::{Base, Policy, Remote};
use crate::service::Service;
use crate::state::Target;
use crate::state::store::Store;

/// Asks for the articles that left the listing, for known drafts now and then, and for unknown ids.
/// Returns whether it meant to ask for any.
pub(super) async fn ask_absent<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
    base: &mut Base,
    observed: &mut Observation,
) -> anyhow::Result<bool> {
    if !observed.remote.complete {
        return Ok(false);
    }
    let questions = questions(&engine.store, &engine.settings, base, observed)?;
    if !questions.is_empty() {
        begin_phase(
            &engine.teller,
            "asking for absent articles",
            Some(questions.len() as u64),
            2,
        );
    }
    for (done, question) in questions.iter().enumerate() {
        let asked = ask(engine, *question, base.articles.get(&question.id)).await?;
        match asked {
            // Without probes nobody can tell more than the listing does: it has the article.
            Ok(Remote::NotVisible(_))
                if question.listed
                    && !engine
                        .gathered
                        .answers
                        .may_probe(&engine.store, &engine.settings)? => {}
            Ok(answer) => {
                let listed_before = question.get && base.articles.contains_key(&question.id);
                if listed_before && shows_a_gap(&answer) {
                    let gap = "the listing left out an article that can be read";
                    observed.doubt.get_or_insert_with(|| gap.to_owned());
                }
                observed.service.unlisted |= !question.listed && is_published(&answer);
                store_visibility(&mut engine.store, base, question.id, &answer)?;
                let listed = observed.remote.articles.get(&question.id);
                let noted = match (listed, &answer) {
                    (Some(Remote::Present(listed)), Remote::Present(seen)) if question.listed => {
                        Answer::Listed {
                            revision: listed.revision.clone(),
                            flags: seen.flags,
                            visibility: seen.visibility,
                        }
                    }
                    _ => {
                        let file = observed.paired.files.get(&question.id);
                        Answer::Article {
                            remote: answer.clone(),
                            file: file.map(|file| file.version.digest()),
                        }
                    }
                };
                engine
                    .gathered
                    .answers
                    .note(Target::Article(question.id), noted);
                observed.remote.articles.insert(question.id, answer);
            }
            Err(error) => {
                observed.stop_for(error);
                break;
            }
        }
        report_done(&engine.teller, done as u64 + 1);
    }
    for row in base.articles.values() {
        observed
            .remote
            .articles
            .entry(row.id)
            .or_insert_with(|| Remote::Unknown("it was not asked for in this cycle".to_owned()));
    }
    Ok(!questions.is_empty())
}

/// Returns the articles to ask for. Answers that are known without asking are taken into account at once.
fn questions(
    store: &Store,
    settings: &Settings,
    base: &Base,
    observed: &mut Observation,
) -> anyhow::Result<Vec<questions::Question>> {
    let limit = settings.max_deletes.limit(base.articles.len());
    let approvals = store.approvals()?.into_iter();
    let approved = approvals.map(|approval| approval.fingerprint).collect();
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
    let mut absent = questions::sort_absent(base, &observed.paired, listed, &rules);
    observed.remote.articles.append(&mut absent.known);
    observed.service.read_first.append(&mut absent.presumed);
    let listed = &mut observed.remote.articles;
    let doubtful = questions::listed_but_disabled(base, listed, &backoff);
    absent
        .ask
        .extend(doubtful.into_iter().map(|id| questions::Question {
            id,
            get: false,
            listed: true,
        }));
    let policy = settings.policy(&observed.request);
    absent
        .ask
        .retain(|question| in_scope(base, &observed.paired, &policy, question.id));
    Ok(absent.ask)
}

/// Records at once that an article is gone or cannot be seen.
pub(super) fn store_visibility(
    store: &mut Store,
    base: &mut Base,
    id: ArticleId,
    answer: &Remote,
) -> anyhow::Result<()> {
    let visibility = match answer {
        Remote::Gone => Visibility::Gone,
        Remote::NotVisible(_) => Visibility::NotVisible,
        Remote::Present(_) | Remote::Unknown(_) => return Ok(()),
    };
    let row = base.articles.get_mut(&id);
    let Some(row) = row.filter(|row| row.visibility != visibility) else {
        return Ok(());
    };
    row.visibility = visibility;
    store.learn(|tx| tx.put_article(row))?;
    Ok(())
}

/// Returns whether an answer counts as that of an article that readers see.
fn is_published(answer: &Remote) -> bool {
    match answer {
        Remote::Present(seen) => seen.visibility == Visibility::Published,
        Remote::Gone | Remote::NotVisible(_) | Remote::Unknown(_) => false,
    }
}

/// Nothing hides the article, and still it was not listed: what else is missing may be there as well.
fn shows_a_gap(answer: &Remote) -> bool {
    match answer {
        Remote::Present(seen) => !seen.flags.hides(),
        Remote::Gone | Remote::NotVisible(_) | Remote::Unknown(_) => false,
    }
}

fn in_scope(base: &Base, paired: &Paired, policy: &Policy, id: ArticleId) -> bool {
    let row = base.articles.get(&id);
    let file = paired.files.get(&id);
    row.is_some_and(|row| policy.covers(&row.place))
        || file.is_some_and(|file| policy.covers(&file.place))
}
