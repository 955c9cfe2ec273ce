//! The facts for the guards besides the plan: counted here, judged in `reconcile::guard`.

use super::Engine;
use super::open_actions::{self, OpenAction};
use super::settings::CycleRequest;
use crate::engine::behind::{behind, duplicates_by_git, removed_uncommitted};
use crate::engine::observation::Observation;
use crate::engine::recent_rollbacks::count_recent_rollbacks;
use crate::engine::stock::{new_categories, stock};
use crate::engine::{GitView, unfinished};
use crate::mirror::disk::Disk;
use crate::model::{ArticleId, Digest, Side, Timestamp, Version};
use crate::reconcile::deletions::{Deletions, Earlier};
use crate::reconcile::guard::{ByGit, Elsewhere, FOR_A_PERSON, Facts, Rollbacks, is_unasked};
use crate::reconcile::plan::{Action, HoldRule, Plan, Settle, Step};
use crate::service::Service;
use crate::state::Parked;
use crate::state::store::Store;
use std::collections::{BTreeMap, BTreeSet};

/// A day in milliseconds.
const DAY: i64 = 24 * 60 * 60 * 1000;

/// A refused action is not tried again for so long.
const REFUSAL_EXPIRES: i64 = DAY;

/// Deletions within this time are counted together.
const DELETIONS_WINDOW: i64 = DAY;

/// An approval holds for so long.
const APPROVAL_EXPIRES: i64 = DAY;

/// Returns whether an action that was refused then is not tried again yet.
pub(super) fn is_refusal_fresh(at: Timestamp, now: Timestamp) -> bool {
    i64::try_from(now.millis_since(at)).is_ok_and(|age| age < REFUSAL_EXPIRES)
}

/// Deletions within so many milliseconds of each other are one series.
const CLOSELY: i64 = 60 * 1000;

/// The reason of a hold: a commit removed files whose newest text is in no commit.
const REMOVED_UNSEEN: &str = "git removed these files, and their newest text is in no commit: the person who removed them \
     may not have seen that text. `kbsync restore FOLDER` brings the files back, `kbsync approve` deletes the articles";

/// Gathers the facts for a plan.
pub(super) fn facts<S: Service, D: Disk>(
    engine: &Engine<S, D>,
    plan: &Plan,
    observed: &Observation,
) -> anyhow::Result<Facts> {
    let now = engine.store.now();
    let since = now.before(DELETIONS_WINDOW);
    // Of a plan that does nothing there is nothing to hold, and of one that deletes nothing no deletion.
    let held = if plan.actions.is_empty() {
        Vec::new()
    } else {
        open_actions::held(&engine.store)?
    };
    let deletes = |side| {
        let mut actions = plan.actions.iter();
        actions.any(|action| action.deletes() == Some(side))
    };
    let earlier = |side| -> anyhow::Result<Earlier> {
        if !deletes(side) {
            return Ok(Earlier::default());
        }
        let count = |since| -> anyhow::Result<usize> {
            let count = engine.store.deletions_since(since, side)?;
            Ok(usize::try_from(count).unwrap_or(usize::MAX))
        };
        let closely = closely_since(now, side, &held, &engine.request).map(count);
        Ok(Earlier {
            day: count(since)?,
            closely: closely.transpose()?.unwrap_or_default(),
        })
    };
    let mut duels = BTreeSet::new();
    for settle in settled(plan).filter(|settle| settle.sends()) {
        if observed.base.articles.contains_key(&settle.id) && is_duel(&engine.store, settle.id)? {
            duels.insert(settle.id);
        }
    }
    let approved = approved(&engine.store, plan)?;
    let mut behind = behind(&engine.store, &*engine.git, plan, observed, &held)?;
    behind.append(&mut duplicates_by_git(&*engine.git, plan, observed));
    let is_fresh = |(_, parked): &(String, Parked)| still_parked(parked, now);
    let refused = engine.store.parked()?.into_iter().filter(is_fresh);
    Ok(Facts {
        deletions: Deletions {
            limit: engine.settings.max_deletes,
            allowed: engine.request.allow_deletes,
            articles: observed.base.articles.len(),
            remote: earlier(Side::Remote)?,
            local: earlier(Side::Local)?,
            stock: stock(
                &engine.store,
                engine.home.as_ref(),
                plan,
                observed,
                |side| closely_since(now, side, &held, &engine.request),
            )?,
        },
        doubt: observed.doubt.clone(),
        rollbacks: rollbacks(&engine.store, plan, observed)?,
        duels,
        refused: refused
            .map(|(key, parked)| (key, (parked.fingerprint, parked.reason)))
            .collect(),
        git: ByGit {
            behind,
            removed: held_by_git(&*engine.git, plan, observed),
        },
        restoring: if deletes(Side::Remote) {
            unfinished::unfinished(&engine.store)?
        } else {
            BTreeSet::new()
        },
        elsewhere: elsewhere(engine, plan, &approved),
        standing: standing(&held),
        new_categories: new_categories(&engine.store, plan, observed, &held)?,
        approved,
    })
}

/// Finds the articles that the plan takes back to an older version on either side.
fn rollbacks(store: &Store, plan: &Plan, observed: &Observation) -> anyhow::Result<Rollbacks> {
    let mut rollbacks = Rollbacks::default();
    for settle in settled(plan) {
        let Some(row) = observed.base.articles.get(&settle.id) else {
            continue;
        };
        let knew = |version: &Version, side| {
            let known = store.knew(settle.id, version.digest(), side);
            known.map(|at| at.is_some())
        };
        if let Some(had) = settle.had().filter(|had| **had != row.local)
            && knew(had, Side::Local)?
        {
            rollbacks.local.insert(settle.id);
        }
        let seen = &settle.seen.version;
        if *seen != row.remote && knew(seen, Side::Remote)? {
            rollbacks.remote.insert(settle.id);
        }
    }
    rollbacks.recent_local = count_recent_rollbacks(store, &rollbacks.local)?;
    Ok(rollbacks)
}

/// Asks git about the articles that are to be deleted because their files are gone.
fn held_by_git(
    git: &dyn GitView,
    plan: &Plan,
    observed: &Observation,
) -> BTreeMap<ArticleId, String> {
    let removals: Vec<(&str, ArticleId)> = plan
        .actions
        .iter()
        .filter(|action| action.deletes() == Some(Side::Remote))
        .filter_map(|action| Some((action.path.as_str(), action.id?)))
        .collect();
    if removals.is_empty() {
        return BTreeMap::new();
    }
    // A reason for all removals leaves nothing to ask.
    if let Some(why) = &observed.request.git_hold {
        return removals
            .into_iter()
            .map(|(_, id)| (id, why.clone()))
            .collect();
    }
    let gone = removals.iter().map(|(path, _)| (*path).to_owned());
    let mut held = git.held_removals(&gone.collect());
    for path in removed_uncommitted(git, &removals, observed) {
        let reason = || REMOVED_UNSEEN.to_owned();
        held.entry(path.to_owned()).or_insert_with(reason);
    }
    let removals = removals.into_iter();
    removals
        .filter_map(|(path, id)| Some((id, held.get(path)?.clone())))
        .collect()
}

/// Looks for the files of the articles that are to be deleted in other workspaces' folders; for none that a person
/// has released.
fn elsewhere<S: Service, D: Disk>(
    engine: &Engine<S, D>,
    plan: &Plan,
    approved: &BTreeSet<Digest>,
) -> Elsewhere {
    let unasked =
        |action: &&Action| is_unasked(action, Side::Remote, engine.request.allow_deletes, approved);
    let actions = plan.actions.iter().filter(unasked);
    (engine.neighbours)(&actions.filter_map(|action| action.id).collect())
}

/// Returns the approvals of the last day; none for an empty plan.
fn approved(store: &Store, plan: &Plan) -> anyhow::Result<BTreeSet<Digest>> {
    let now = store.now();
    if plan.actions.is_empty() {
        return Ok(BTreeSet::new());
    }
    let approvals = store.approvals()?.into_iter();
    let is_fresh = |at| i64::try_from(now.millis_since(at)).is_ok_and(|age| age < APPROVAL_EXPIRES);
    Ok(approvals
        .filter(|approval| is_fresh(approval.at))
        .map(|approval| approval.set)
        .collect())
}

/// Returns the start of the current series of deletions; `None`: the series has only this cycle. A daemon may see one
/// removal in several cycles. A held deletion keeps the series open, for commands as well.
fn closely_since(
    now: Timestamp,
    side: Side,
    held: &[OpenAction],
    request: &CycleRequest,
) -> Option<Timestamp> {
    let since = held
        .iter()
        .filter(|held| held.rule.is_some_and(HoldRule::holds_deletions) && held.side == side)
        .map(|held| held.since)
        .min();
    let begin = match since {
        Some(since) => since.min(now),
        None if request.is_background => now,
        None => return None,
    };
    Some(begin.before(CLOSELY))
}

/// Removes a refusal when its action changed. After a complete cycle, removes the refusals without an action as well.
pub(super) fn forget_refusals(
    store: &mut Store,
    plan: &Plan,
    facts: &Facts,
    observed: &Observation,
) -> anyhow::Result<()> {
    let whole = observed.request.is_whole()
        && observed.request.in_motion.paths.is_empty()
        && observed.is_complete();
    let changed: Vec<String> = plan
        .actions
        .iter()
        .filter_map(|action| {
            let (refused, _) = facts.refused.get(&action.key())?;
            (*refused != action.fingerprint()).then(|| action.key())
        })
        .chain(facts.refused.keys().filter_map(|key| {
            let moot = whole && plan.actions.iter().all(|action| action.key() != *key);
            moot.then(|| key.clone())
        }))
        .collect();
    if changed.is_empty() {
        return Ok(());
    }
    store.learn(|tx| changed.iter().try_for_each(|key| tx.unpark(key)))?;
    Ok(())
}

/// Two versions that alternate between the sides: A from here, B from there, A again, B again.
fn is_duel(store: &Store, id: ArticleId) -> anyhow::Result<bool> {
    let recent = store.recent_exchange(id)?;
    let [(s1, d1), (s2, d2), (s3, d3), (s4, d4)] = recent.as_slice() else {
        return Ok(false);
    };
    Ok(s1 != s2 && s1 == s3 && s2 == s4 && d1 == d3 && d2 == d4 && d1 != d2)
}

/// Returns the articles whose two sides the plan brings together.
fn settled(plan: &Plan) -> impl Iterator<Item = &Settle> {
    plan.actions.iter().filter_map(|action| {
        if let Step::Settle(settle) = &action.step {
            Some(&**settle)
        } else {
            None
        }
    })
}

/// Returns the held actions whose hold does not end when the number falls.
fn standing(held: &[OpenAction]) -> BTreeSet<(HoldRule, Side, ArticleId)> {
    let counted = |rule| {
        matches!(
            rule,
            HoldRule::MassDeletion
                | HoldRule::MassRollback
                | HoldRule::Elsewhere
                | HoldRule::ForeignState
        )
    };
    held.iter()
        .filter_map(|held| Some((held.rule?, held.side, held.id?)))
        .filter(|(rule, ..)| counted(*rule))
        .collect()
}

/// A refusal expires after a day. An article that exists and cannot be read waits for a person: its address may have
/// changed, and a second POST would make a duplicate.
fn still_parked(parked: &Parked, now: Timestamp) -> bool {
    parked.reason.starts_with(FOR_A_PERSON) || is_refusal_fresh(parked.at, now)
}
