//! After a crash: what was half done is finished in the books, or taken back.
//!
//! An intent says what was about to happen. The two sides, as they are found now, say whether it did. Only
//! the base is corrected here; what is left to do follows from it as in any other cycle. Doing this twice
//! changes nothing.

mod born;
mod lying;
mod proof;
mod put;
mod repeated;
mod verdict;
mod written;

use super::Engine;
use super::apply::{REPLACED_THERE, met};
use super::observe::Sight;
use super::settings::Request;
use crate::mirror::disk::Disk;
use crate::model::{ArticleId, Place, Revision};
use crate::reconcile::snapshot::{Base, Policy, Remote, Seen};
use crate::service::Service;
use crate::state::store::Store;
use crate::state::{Intent, IntentId, Seen as SeenVersion, Subject};
use anyhow::Context as _;
use born::posted;
pub(in crate::engine) use born::{is_posted, is_same_text, said_when_sent};
use lying::Lying;
use proof::proven;
pub(super) use put::put_to;
use put::{put_arrived, shown_before};
use std::collections::BTreeSet;
use verdict::{Verdict, take, write};
use written::{file_written, folder_written, is_closed, names_on_the_move};

/// Settles the intents that an earlier run left behind. `asked`: articles that are not in the listing were asked
/// for since, and only PUTs to these are settled now, and files that were to be written of them.
pub(super) fn settle_intents<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
    base: &mut Base,
    sight: &Sight,
    request: &Request,
    asked: Option<&BTreeSet<ArticleId>>,
) -> anyhow::Result<()> {
    let mut intents = engine.store.intents()?;
    let all = intents.clone();
    if let Some(asked) = asked {
        let answered = |intent: &Intent| {
            matches!(
                intent,
                Intent::UpdateArticle { id, .. } | Intent::WriteFile { id, .. } if asked.contains(id)
            )
        };
        intents.retain(|(_, intent)| answered(intent));
    }
    // Of what was sent both ways, what is listed is more likely the one that nothing hides.
    intents.sort_by_key(|(_, intent)| is_hidden_post(intent));
    let now = engine.clock.now();
    if !request.dry_run {
        make_durable(engine, &intents)?;
    }
    let lying = if intents.is_empty() {
        Lying::default()
    } else {
        Lying::of(sight)
    };
    if asked.is_none() {
        confirm_ids(engine, base, sight, request)?;
    }
    let names = names_on_the_move(base, &lying, &all);
    let mut verdicts = Vec::with_capacity(intents.len());
    let mut met = Vec::new();
    let before = shown_before(&engine.store, sight, &intents)?;
    let policy = engine.policy(request);
    let files = (&lying, &names);
    let proven = proven(&engine.store, base, sight, files, &intents)?;
    for (id, intent) in intents {
        let said = (&intent, proven.contains(&id));
        let verdict = judge(base, sight, said, files, &before, &policy);
        met.extend(first_met(&engine.store, base, sight, (&intent, &verdict))?);
        tracing::debug!(?intent, "an earlier run left this behind");
        let along = take(base, sight, &verdict);
        verdicts.push((id, verdict, along));
    }
    if verdicts.is_empty() || request.dry_run {
        return Ok(());
    }
    // What the answers tell besides is not dealt with yet: cut off before that, it is asked for again.
    for (_, verdict, _) in &mut verdicts {
        if let Verdict::Article(row) | Verdict::Settled(row) = verdict
            && engine.asked.contains_key(&row.id)
        {
            row.asked = None;
        }
    }
    // All at once: what one says of a file may rest on another that is still there.
    engine.store.write(now, |tx| {
        for (id, verdict, along) in &verdicts {
            write(tx, *id, verdict)?;
            along.iter().try_for_each(|row| tx.put_article(row))?;
        }
        met.iter().try_for_each(|seen| tx.record(seen).map(|_| ()))
    })?;
    engine.clear_copies()
}

/// What an earlier run wrote and did not make durable could still be gone after a loss of power, and then a base that
/// knows it would take that for a removal. Once is enough: what is left open of it is not written again.
fn make_durable<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
    intents: &[(IntentId, Intent)],
) -> anyhow::Result<()> {
    let written = intents.iter().filter(|(_, intent)| writes_files(intent));
    let written: BTreeSet<IntentId> = written.map(|(id, _)| *id).collect();
    if written.is_subset(&engine.durable) {
        return Ok(());
    }
    engine
        .disk
        .flush()
        .context("failed to make durable what an earlier run wrote")?;
    engine.durable = written;
    Ok(())
}

/// Confirms the ids of new articles that are in files now. An id that an earlier run wrote could be gone again after a
/// loss of power, and then a base that counts on it would take the file for another one: the files are made durable first.
fn confirm_ids<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
    base: &mut Base,
    sight: &Sight,
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

/// Takes away what an earlier run was about to write of articles that this cycle has dealt with. The next one would
/// find it void; but as long as anything stands open, every cycle looks at everything.
pub(super) fn forget_over<S: Service, D: Disk>(engine: &mut Engine<S, D>) -> anyhow::Result<()> {
    if engine.durable.is_empty() {
        return Ok(());
    }
    let mut over = Vec::new();
    for (number, intent) in engine.store.intents()? {
        let Intent::WriteFile { id, was, .. } = intent else {
            continue;
        };
        let row = engine.store.article(id)?;
        if engine.durable.contains(&number) && written::is_over(row.as_ref(), was) {
            over.push(number);
        }
    }
    if over.is_empty() {
        return Ok(());
    }
    let now = engine.clock.now();
    engine.store.write(now, |tx| {
        over.iter().try_for_each(|intent| tx.remove_intent(*intent))
    })?;
    Ok(())
}

/// The service's versions of an article that no base knew: when they were listed nobody knew whose history
/// they belong to. From now on it may count as known; or what an earlier run wrote of it is there no more.
///
/// As long as that stays open this is asked in every cycle, and what the earlier run met is recorded in the first.
fn first_met(
    store: &Store,
    base: &Base,
    sight: &Sight,
    (intent, verdict): (&Intent, &Verdict),
) -> anyhow::Result<Vec<SeenVersion>> {
    let (id, place, then) = match (intent, verdict) {
        (Intent::WriteFile { id, to, remote, .. }, _) => (*id, to, remote),
        (_, Verdict::Article(row) | Verdict::Settled(row) | Verdict::Born(row, _)) => {
            (row.id, &row.place, &row.remote)
        }
        (
            _,
            Verdict::Void
            | Verdict::Kept(_)
            | Verdict::Deleted(..)
            | Verdict::Category(_)
            | Verdict::Open,
        ) => return Ok(Vec::new()),
    };
    if base.articles.contains_key(&id) {
        return Ok(Vec::new());
    }
    let now = match sight.remote.articles.get(&id) {
        Some(Remote::Present(seen)) => Some(&seen.version),
        Some(Remote::Gone | Remote::NotVisible(_) | Remote::Unknown(_)) | None => None,
    };
    let is_kept = store.has_version(&Subject::Article(id), place, then.digest())?;
    let then = Some(then).filter(|_| !is_kept);
    let versions = then.into_iter().chain(now);
    Ok(versions.map(|version| met(id, place, version)).collect())
}

/// Returns whether a POST was to make an article that no listing shows.
fn is_hidden_post(intent: &Intent) -> bool {
    matches!(intent, Intent::CreateArticle { flags, .. } if flags.hides())
}

/// Returns whether a step changes the mirror.
fn writes_files(intent: &Intent) -> bool {
    match intent {
        Intent::WriteFile { .. }
        | Intent::WriteCategory { .. }
        | Intent::RemoveFile { .. }
        | Intent::ClearCopy { .. } => true,
        Intent::CreateArticle { .. }
        | Intent::UpdateArticle { .. }
        | Intent::DeleteArticle { .. }
        | Intent::CreateCategory { .. }
        | Intent::UpdateCategory { .. } => false,
    }
}

fn judge(
    base: &Base,
    sight: &Sight,
    (intent, proven): (&Intent, bool),
    files: (&Lying<'_>, &BTreeSet<Place>),
    before: &BTreeSet<ArticleId>,
    policy: &Policy,
) -> Verdict {
    match intent {
        Intent::WriteFile { .. } => file_written(base, sight, (intent, proven), files, policy),
        Intent::UpdateArticle { .. } => put_arrived(base, sight, intent, before),
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
        Intent::WriteCategory { .. } => folder_written(base, sight, intent),
        Intent::DeleteArticle { id, revision } => {
            deleted(base, sight, (*id, revision), files.0, policy)
        }
        // The copy is taken away when all else is settled.
        Intent::ClearCopy { .. } => Verdict::Open,
        // What became of these is seen on the two sides.
        Intent::RemoveFile { id, place } => kept(base, sight, *id, place),
        Intent::UpdateCategory { .. } => Verdict::Void,
    }
}

/// A file that was to be removed: as long as one lies there, nothing makes another article's file come back. What cannot
/// be read, or is in motion, need not be there at all: that is waited for.
fn kept(base: &Base, sight: &Sight, id: ArticleId, place: &Place) -> Verdict {
    let mut conflicts = base.conflicts.values();
    let other =
        conflicts.find(|row| row.id != id && row.place == *place && row.reason == REPLACED_THERE);
    let Some(other) = other else {
        return Verdict::Void;
    };
    let mut files = sight.local.files.iter();
    if files.any(|file| file.place == *place) {
        return Verdict::Kept(other.id);
    }
    let mut unknown = sight.local.unknown.iter();
    let hidden = sight.local.unreadable.contains(&place.folder);
    if hidden || unknown.any(|unknown| unknown.place == *place) {
        return Verdict::Open;
    }
    Verdict::Void
}

/// A DELETE without an answer: what it was to delete is not listed any more. What is listed as it was may be an old copy,
/// which the next listing tells, as long as the file is missing; with the file back nothing is to be deleted. A listing may
/// leave it out, too: then the question tells that this very cycle asks, unless its paths leave the article out.
fn deleted(
    base: &Base,
    sight: &Sight,
    (id, revision): (ArticleId, &Revision),
    lying: &Lying<'_>,
    policy: &Policy,
) -> Verdict {
    let row = base.articles.get(&id);
    let is_missing = || row.is_some_and(|row| lying.is_missing(row, &row.place));
    let is_old = |seen: &Seen| {
        let replaced = row.is_some_and(|row| row.has_replaced(&seen.version, &seen.revision));
        seen.revision == *revision || replaced
    };
    match sight.remote.articles.get(&id) {
        Some(Remote::Present(seen)) if is_old(seen) && is_missing() => Verdict::Open,
        Some(_) => Verdict::Void,
        None if row.is_some_and(|row| !policy.covers(&row.place)) => Verdict::Open,
        None if sight.remote.complete => Verdict::Deleted(id, revision.clone()),
        None => Verdict::Open,
    }
}
