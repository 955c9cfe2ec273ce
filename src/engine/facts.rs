//! The facts for the guards, besides the plan: gathered here, judged in `reconcile::guard` and `reconcile::deletions`.
//! After the judgement, refusals that are over are removed here, and roll-backs that were sent are stored.
//!
//! - Deletions: the earlier deletions of a minute and of a day, and the number of articles to compare with.
//! - Roll-backs: an archive unpacked over the mirror brings older files in small batches. The batches of one hour count
//!   as one roll-back. Only a daemon's cycles add to it, because a person's command is no accident. The list is stored,
//!   so that a restart does not end the roll-back.

use crate::engine::Engine;
use crate::engine::by_git::by_git;
use crate::engine::first_sync::asks_for_categories;
use crate::engine::observation::{IGNORE_RULES, Observation};
use crate::engine::open_actions::{self, OpenAction};
use crate::engine::report::{Report, Status};
use crate::engine::settings::Cause;
use crate::mirror::disk::Disk;
use crate::mirror::layout::Layout;
use crate::model::{ArticleId, Digest, Place, Side, Timestamp, Version};
use crate::reconcile::deletions::{Deletions, Earlier, Inventory};
use crate::reconcile::guard::{Elsewhere, Facts, Rollbacks};
use crate::reconcile::plan::{Action, HoldRule, Plan, Settle, Step};
use crate::service::Service;
use crate::state::Parked;
use crate::state::home::Fit;
use crate::state::store::Store;
use std::collections::{BTreeMap, BTreeSet};

/// The time for which a refused action is not tried again, in milliseconds.
pub(super) const REFUSAL_EXPIRES: i64 = Timestamp::DAY;

/// Gathers the facts for a plan.
pub(super) fn facts<S: Service, D: Disk>(
    engine: &Engine<S, D>,
    plan: &Plan,
    observed: &Observation,
) -> anyhow::Result<Facts> {
    let (store, now) = (&engine.store, engine.store.now());
    if plan.actions.is_empty() {
        return Ok(Facts::default());
    }
    let is_fresh = |(_, parked): &(String, Parked)| still_parked(parked, now);
    let parked = store.parked()?.into_iter().filter(is_fresh);
    let held = open_actions::held(store)?;
    let mut duels = BTreeSet::new();
    for settle in settles(plan).filter(|settle| settle.sends()) {
        if observed.row(settle.id).is_some() && is_duel(store, settle)? {
            duels.insert(settle.id);
        }
    }
    let approved = open_actions::approved(store)?;
    Ok(Facts {
        deletions: deletions(engine, plan, observed)?,
        doubt: observed.doubt.clone(),
        rollbacks: rollbacks(store, plan, observed)?,
        duels,
        parked: parked.collect(),
        git: by_git(store, &*engine.git, plan, observed, &held)?,
        restoring: open_actions::unfinished(store)?,
        elsewhere: elsewhere(engine, plan, &approved),
        still_held: sticky_holds(&held),
        asks_for_categories: asks_for_categories(store, plan, observed, &held)?,
        unhidden: unhidden(store, plan, observed)?,
        approved,
    })
}

/// Returns the paths of files that would be sent, and of new categories, which the ignore rules of the last cycle left
/// out. A dry run sends nothing, so it needs no second look.
fn unhidden(
    store: &Store,
    plan: &Plan,
    observed: &Observation,
) -> anyhow::Result<BTreeSet<String>> {
    let before: Option<String> = store.value(IGNORE_RULES)?;
    let before = before.filter(|_| !observed.request.dry_run);
    let before = before.filter(|before| before != observed.mirror.layout.text());
    let Some(Ok(before)) = before.map(|before| Layout::parse(before.as_bytes())) else {
        return Ok(BTreeSet::new());
    };
    let was_hidden = |action: &&Action| match action.path.split_once('/') {
        Some((folder, file)) => before.ignores(&Place::new(folder, file)),
        None => before.ignores_folder(&action.path),
    };
    let is_sent = |action: &&Action| {
        action.sends()
            && action.deletes().is_none()
            && !matches!(action.step, Step::SettleCategory(_))
    };
    let new = plan.actions.iter().filter(is_sent).filter(was_hidden);
    Ok(new.map(|action| action.path.clone()).collect())
}

/// Looks in other workspaces' folders for the files of articles to be deleted, except approved deletions.
fn elsewhere<S: Service, D: Disk>(
    engine: &Engine<S, D>,
    plan: &Plan,
    approved: &BTreeSet<Digest>,
) -> Elsewhere {
    let is_unasked = |action: &&Action| {
        action.held.is_none()
            && action.deletes() == Some(Side::Remote)
            && !engine.request.allow_deletes
            && !approved.contains(&action.fingerprint())
    };
    let actions = plan.actions.iter().filter(is_unasked);
    (engine.folders.neighbours)(&actions.filter_map(|action| action.id).collect())
}

/// Removes the refusals of actions that changed and, after a complete cycle, the refusals without an action.
pub(super) fn forget_parked(
    store: &mut Store,
    plan: &Plan,
    observed: &Observation,
) -> anyhow::Result<()> {
    let mut moot = store.parked()?;
    if moot.is_empty() {
        return Ok(());
    }
    let is_whole = observed.request.is_whole()
        && observed.request.in_motion.paths.is_empty()
        && observed.is_complete();
    let actions = plan.actions.iter();
    let planned: BTreeMap<_, _> = actions
        .map(|action| (action.key(), action.fingerprint()))
        .collect();
    moot.retain(|key, parked| match planned.get(key) {
        Some(fingerprint) => *fingerprint != parked.fingerprint,
        None => is_whole,
    });
    if moot.is_empty() {
        return Ok(());
    }
    store.write(|tx| moot.keys().try_for_each(|key| tx.unpark(key)))?;
    Ok(())
}

/// Returns whether two versions alternate between the sides: A from here, B from there, A again, B again. The file has
/// one of them: a dry run does not record a new version.
fn is_duel(store: &Store, settle: &Settle) -> anyhow::Result<bool> {
    let recent = store.recent_exchange(settle.id)?;
    let [(s1, d1), (s2, d2), (s3, d3), (s4, d4)] = recent.as_slice() else {
        return Ok(false);
    };
    let is_new = |had: &Version| ![d1, d2].contains(&&had.digest());
    Ok(s1 != s2
        && s1 == s3
        && s2 == s4
        && d1 == d3
        && d2 == d4
        && d1 != d2
        && !settle.had().is_some_and(is_new))
}

/// Returns the articles whose two sides the plan brings together.
fn settles(plan: &Plan) -> impl Iterator<Item = &Settle> {
    plan.actions.iter().filter_map(Action::as_settle)
}

/// Returns the held actions whose hold stays until a person decides, although its cause may have gone.
fn sticky_holds(held: &[OpenAction]) -> BTreeSet<(HoldRule, ArticleId)> {
    let is_sticky = |rule| {
        matches!(
            rule,
            HoldRule::MassDeletion
                | HoldRule::MassRollback
                | HoldRule::Elsewhere
                | HoldRule::ForeignState
        )
    };
    held.iter()
        .filter_map(|held| Some((held.rule?, held.id?)))
        .filter(|(rule, _)| is_sticky(*rule))
        .collect()
}

/// Returns whether a parked action stays parked. A refusal expires after a day. What a POST without a response may have
/// made waits for a person: a second POST could create it twice.
fn still_parked(parked: &Parked, now: Timestamp) -> bool {
    parked.is_for_person || parked.at.is_recent(now, REFUSAL_EXPIRES)
}

/// Deletions within this time, in milliseconds, count as made at once: files that are removed at once may be seen in
/// several cycles.
const AT_ONCE: i64 = 60 * 1000;

/// Gathers the facts about a plan's deletions; without deletions, only the limits.
fn deletions<S, D: Disk>(
    engine: &Engine<S, D>,
    plan: &Plan,
    observed: &Observation,
) -> anyhow::Result<Deletions> {
    let store = &engine.store;
    let number = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    let mut deletions = Deletions {
        limit: engine.settings.max_deletes,
        allowed: engine.request.allow_deletes,
        articles: observed.base.articles.len(),
        ..Deletions::default()
    };
    let sides: BTreeSet<Side> = plan.actions.iter().filter_map(Action::deletes).collect();
    if sides.is_empty() {
        return Ok(deletions);
    }
    for side in sides {
        let since = |age| store.deletions_since(store.now().before(age), side);
        let earlier = Earlier {
            day: number(since(Timestamp::DAY)?),
            at_once: number(since(AT_ONCE)?),
        };
        match side {
            Side::Local => deletions.local = earlier,
            Side::Remote | Side::Both => deletions.remote = earlier,
        }
    }
    let rows = observed.base.articles.values();
    let paired = &observed.paired;
    let is_here = |id| paired.files.contains_key(id) || paired.unknown.contains_key(id);
    // Without a folder there is nothing to compare the state with.
    let fit = engine
        .folders
        .home
        .as_ref()
        .map(|home| home.fit(store))
        .transpose()?;
    deletions.inventory = Inventory {
        homes: rows.map(|row| (row.id, row.local.category)).collect(),
        no_files: !observed.base.articles.keys().any(is_here),
        from_elsewhere: fit == Some(Fit::Elsewhere),
    };
    Ok(deletions)
}

/// The kind of the articles whose files went back to older versions.
const GONE_BACK: &str = "gone_back";

/// The time in which batches count as one roll-back, in milliseconds.
const RECENT: i64 = 60 * 60 * 1000;

/// Finds the articles that the plan takes back to an older version on either side.
fn rollbacks(store: &Store, plan: &Plan, observed: &Observation) -> anyhow::Result<Rollbacks> {
    let mut rollbacks = Rollbacks::default();
    for settle in settles(plan) {
        let Some(row) = observed.row(settle.id) else {
            continue;
        };
        let knew = |version: &Version, side| {
            let known = store.superseded_version(settle.id, version.digest(), side);
            known.map(|number| number.is_some())
        };
        if observed.request.cause != Cause::Restore
            && let Some(had) = settle.had().filter(|had| **had != row.local)
            && knew(had, Side::Local)?
        {
            rollbacks.local.insert(settle.id);
        }
        let seen = &settle.seen.version;
        if *seen != row.remote && knew(seen, Side::Remote)? {
            rollbacks.remote.insert(settle.id);
        }
    }
    // A plan without older versions is not held for earlier ones.
    if !rollbacks.local.is_empty() {
        let mut recent = recent(store)?;
        recent.retain(|id, _| !rollbacks.local.contains(id));
        rollbacks.recent_local = recent.len();
    }
    Ok(rollbacks)
}

/// Stores the articles that went back to older versions in this cycle.
pub(super) fn note_rollbacks(
    store: &mut Store,
    observed: &Observation,
    report: &Report,
) -> anyhow::Result<()> {
    if observed.gone_back.is_empty() || observed.request.cause != Cause::Background {
        return Ok(());
    }
    let sent = report.actions.iter();
    let sent = sent.filter(|line| line.status == Status::Done && line.side != Side::Local);
    let sent = sent.filter_map(|line| line.id);
    let sent = sent.filter(|id| observed.gone_back.contains(id));
    let mut rows = recent(store)?;
    rows.extend(sent.map(|id| (id, store.now())));
    let rows = rows.into_iter();
    let rows = rows.map(|(id, at)| (id.to_string(), (id, at))).collect();
    store.write(|tx| tx.put_waiting(GONE_BACK, &rows))?;
    Ok(())
}

/// Returns the articles whose older files were sent in the last hour or, while a roll-back is held, since an hour
/// before the hold. A time in the future counts as recent.
fn recent(store: &Store) -> anyhow::Result<BTreeMap<ArticleId, Timestamp>> {
    let now = store.now();
    let rows: BTreeMap<String, (ArticleId, Timestamp)> = store.waiting(GONE_BACK)?;
    let held = open_actions::held(store)?;
    let held = held.iter();
    let held = held
        .filter(|held| held.rule == Some(HoldRule::MassRollback) && held.side != Side::Local)
        .map(|held| held.since);
    let begin = held.min().map_or(now, |since| since.min(now));
    let begin = begin.before(RECENT);
    let rows = rows.into_values();
    Ok(rows.filter(|(_, at)| *at >= begin).collect())
}
