//! The facts for the guards besides the plan: counted here, judged in `reconcile::guard`.

use super::Engine;
use super::open_actions::{self, OpenAction};
use crate::engine::behind::by_git;
use crate::engine::deletions::deletions;
use crate::engine::first_sync::new_categories;
use crate::engine::observation::Observation;
use crate::engine::recent_rollbacks::rollbacks;
use crate::engine::unfinished;
use crate::mirror::disk::Disk;
use crate::model::{ArticleId, Digest, Side, Timestamp};
use crate::reconcile::guard::{Elsewhere, FOR_A_PERSON, Facts};
use crate::reconcile::plan::{Action, HoldRule, Plan, Settle, Step};
use crate::service::Service;
use crate::state::Parked;
use crate::state::store::Store;
use std::collections::{BTreeMap, BTreeSet};

/// A day in milliseconds.
const DAY: i64 = 24 * 60 * 60 * 1000;

/// A refused action is not tried again for so long.
const REFUSAL_EXPIRES: i64 = DAY;

/// An approval holds for so long.
const APPROVAL_EXPIRES: i64 = DAY;

/// Returns whether an action that was refused then is not tried again yet.
pub(super) fn is_refusal_fresh(at: Timestamp, now: Timestamp) -> bool {
    i64::try_from(now.millis_since(at)).is_ok_and(|age| age < REFUSAL_EXPIRES)
}

/// Gathers the facts for a plan. Of a plan that does nothing there is nothing to hold.
pub(super) fn facts<S: Service, D: Disk>(
    engine: &Engine<S, D>,
    plan: &Plan,
    observed: &Observation,
) -> anyhow::Result<Facts> {
    let (store, now) = (&engine.store, engine.store.now());
    let is_fresh = |(_, parked): &(String, Parked)| still_parked(parked, now);
    let refused = store.parked()?.into_iter().filter(is_fresh);
    let refused = refused.map(|(key, parked)| (key, (parked.fingerprint, parked.reason)));
    if plan.actions.is_empty() {
        return Ok(Facts {
            refused: refused.collect(),
            ..Facts::default()
        });
    }
    let held = open_actions::held(store)?;
    let mut duels = BTreeSet::new();
    for settle in settled(plan).filter(|settle| settle.sends()) {
        if observed.base.articles.contains_key(&settle.id) && is_duel(store, settle.id)? {
            duels.insert(settle.id);
        }
    }
    let approvals = store.approvals()?.into_iter();
    let is_fresh = |at| i64::try_from(now.millis_since(at)).is_ok_and(|age| age < APPROVAL_EXPIRES);
    let approved = approvals.filter(|approval| is_fresh(approval.at));
    let approved = approved.map(|approval| approval.fingerprint).collect();
    Ok(Facts {
        deletions: deletions(engine, plan, observed, &held)?,
        doubt: observed.doubt.clone(),
        rollbacks: rollbacks(store, settled(plan), observed)?,
        duels,
        refused: refused.collect(),
        git: by_git(store, &*engine.git, plan, observed, &held)?,
        restoring: unfinished::unfinished(store)?,
        elsewhere: elsewhere(engine, plan, &approved),
        standing: standing(&held),
        new_categories: new_categories(store, plan, observed, &held)?,
        approved,
    })
}

/// Looks for the files of the articles that are to be deleted in other workspaces' folders; for none that a person
/// has released.
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
    (engine.neighbours)(&actions.filter_map(|action| action.id).collect())
}

/// Removes the refusal of an action that changed, and after a complete cycle the refusals without an action.
pub(super) fn forget_refusals(
    store: &mut Store,
    plan: &Plan,
    observed: &Observation,
) -> anyhow::Result<()> {
    let is_whole = observed.request.is_whole()
        && observed.request.in_motion.paths.is_empty()
        && observed.is_complete();
    let actions = plan.actions.iter();
    let planned: BTreeMap<_, _> = actions
        .map(|action| (action.key(), action.fingerprint()))
        .collect();
    let mut moot = store.parked()?;
    moot.retain(|key, parked| match planned.get(key) {
        Some(fingerprint) => *fingerprint != parked.fingerprint,
        None => is_whole,
    });
    if moot.is_empty() {
        return Ok(());
    }
    store.learn(|tx| moot.keys().try_for_each(|key| tx.unpark(key)))?;
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
