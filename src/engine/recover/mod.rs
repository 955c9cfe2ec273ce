//! After a crash or a lost answer: requests to the service that were sent are finished in the books, or taken back.
//!
//! An intent says what was about to be sent. The two sides, as they are found now, say whether it arrived. Only
//! the base is corrected here; what is left to do follows from it as in any other cycle. Doing this twice
//! changes nothing. Changes of the mirror are settled before, by the journal.

mod born;
mod verdict;

use super::Engine;
use super::apply::met;
use super::observe::Observation;
use super::settings::Request;
use crate::mirror::disk::Disk;
use crate::model::{ArticleId, Place, path};
use crate::reconcile::snapshot::{Base, Policy, Remote};
use crate::service::Service;
use crate::state::store::Store;
use crate::state::{Intent, Seen as SeenVersion, Subject};
use anyhow::Context as _;
use born::posted;
pub(in crate::engine) use born::{is_posted, is_same_text, said_when_sent};
use verdict::{Verdict, take, write};

/// Settles the intents that an earlier run left behind, but for PUT and DELETE, which are settled before anything is
/// observed.
pub(super) fn settle_intents<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
    base: &mut Base,
    sight: &Observation,
    request: &Request,
) -> anyhow::Result<()> {
    let mut intents = engine.store.intents()?;
    // Of what was sent both ways, what is listed is more likely the one that nothing hides.
    intents.sort_by_key(|(_, intent)| is_hidden_post(intent));
    let now = engine.clock.now();
    confirm_ids(engine, base, sight, request)?;
    let mut verdicts = Vec::with_capacity(intents.len());
    let mut met = Vec::new();
    let policy = engine.policy(request);
    for (id, intent) in intents {
        let verdict = judge(base, sight, &intent, &policy);
        met.extend(first_met(&engine.store, base, sight, &verdict)?);
        tracing::debug!(?intent, "an earlier run left this behind");
        take(base, &verdict);
        verdicts.push((id, verdict));
    }
    if verdicts.is_empty() || request.dry_run {
        return Ok(());
    }
    // All at once: what one says of a file may rest on another that is still there.
    engine.store.write(now, |tx| {
        for (id, verdict) in &verdicts {
            write(tx, *id, verdict)?;
        }
        met.iter().try_for_each(|seen| tx.record(seen).map(|_| ()))
    })?;
    Ok(())
}

/// Confirms the ids of new articles that are in files now. An id that an earlier run wrote could be gone again after a
/// loss of power, and then a base that counts on it would take the file for another one: the files are made durable first.
fn confirm_ids<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
    base: &mut Base,
    sight: &Observation,
    request: &Request,
) -> anyhow::Result<()> {
    let ids = sight.local.files.iter().filter_map(|file| file.id);
    let found: Vec<ArticleId> = ids.filter(|id| base.unconfirmed.remove(id)).collect();
    if found.is_empty() || request.dry_run {
        return Ok(());
    }
    engine
        .disk
        .flush()
        .context("failed to make durable the id of a new article")?;
    let now = engine.clock.now();
    engine.store.write(now, |tx| {
        let mut found = found.into_iter();
        found.try_for_each(|id| tx.remove_unconfirmed_id(id))
    })?;
    Ok(())
}

/// The service's versions of an article that no base knew: when they were listed nobody knew whose history
/// they belong to. From now on it counts as known.
fn first_met(
    store: &Store,
    base: &Base,
    sight: &Observation,
    verdict: &Verdict,
) -> anyhow::Result<Vec<SeenVersion>> {
    let row = match verdict {
        Verdict::Born(row, _) => row,
        Verdict::Void | Verdict::Open => return Ok(Vec::new()),
    };
    if base.articles.contains_key(&row.id) {
        return Ok(Vec::new());
    }
    let now = match sight.remote.articles.get(&row.id) {
        Some(Remote::Present(seen)) => Some(&seen.version),
        Some(Remote::Gone | Remote::NotVisible(_) | Remote::Unknown(_)) | None => None,
    };
    let subject = Subject::Article(row.id);
    let is_kept = store.has_version(&subject, &row.place, row.remote.digest())?;
    let then = Some(&row.remote).filter(|_| !is_kept);
    let versions = then.into_iter().chain(now);
    Ok(versions
        .map(|version| met(row.id, &row.place, version))
        .collect())
}

/// Returns whether a POST was to make an article that no listing shows.
fn is_hidden_post(intent: &Intent) -> bool {
    matches!(intent, Intent::CreateArticle { flags, .. } if flags.hides())
}

fn judge(base: &Base, sight: &Observation, intent: &Intent, policy: &Policy) -> Verdict {
    match intent {
        Intent::CreateArticle { .. } => posted(base, sight, intent, policy),
        Intent::CreateCategory { folder, .. } => {
            // It cannot be found through the API; the slug tells, when it is sent again.
            let waits = sight
                .local
                .categories
                .iter()
                .any(|category| category.folder == *folder && category.id.is_none());
            if waits || is_closed(sight, folder) {
                Verdict::Open
            } else {
                Verdict::Void
            }
        }
        // They are settled before anything is observed.
        Intent::UpdateArticle(_) | Intent::DeleteArticle(_) => Verdict::Open,
        // What became of it is seen on the two sides.
        Intent::UpdateCategory { .. } => Verdict::Void,
    }
}

/// Returns whether nobody can say now what lies at a place: its folder cannot be listed, or there is something that is in
/// motion or cannot be read. Nor where it lies, if it was moved from there: while a folder cannot be listed, that may
/// have it.
fn is_out_of_sight(sight: &Observation, place: &Place) -> bool {
    let local = &sight.local;
    let names = local.names.get(&place.folder);
    let is_taken = names.is_some_and(|names| names.contains(&path::fold(&place.file)));
    local.unreadable.contains(&place.folder)
        || !local.closed.is_empty()
        || (is_taken && local.files.iter().all(|file| file.place != *place))
}

/// Returns whether nobody can say now what a folder is: it cannot be listed, or its `_category.yaml` cannot be read.
fn is_closed(sight: &Observation, folder: &str) -> bool {
    let local = &sight.local;
    local.unreadable.contains(folder) || local.unready_categories.contains(folder)
}
