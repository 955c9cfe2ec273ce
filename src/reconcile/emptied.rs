//! Holds deletions that would empty a category or the mirror, and all deletions of a state from elsewhere.
//!
//! Such deletions are held whatever `max_deletes` says, until a person approves them. Renames and moves do not count as
//! deletions. This file reads no clock; the caller counts the earlier deletions that belong to the same act.

use super::guard::Facts;
use super::plan::{Action, HoldRule, Plan};
use crate::model::path::quoted;
use crate::model::{ArticleId, CategoryId, Digest, Side};
use std::collections::{BTreeMap, BTreeSet};

/// The articles of the base, against which deletions are counted. The default is empty, and holds nothing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Stock {
    /// The category of every article of the base.
    pub homes: BTreeMap<ArticleId, CategoryId>,
    /// Whether none of these articles has a file any more.
    pub no_files: bool,
    /// Recent deletions by side and folder: a daemon sees the removal of a folder in several cycles.
    pub lately: BTreeMap<(Side, String), usize>,
    /// Whether the state was made for another folder than this mirror.
    pub from_elsewhere: bool,
}

/// Emptying a category or a mirror is held from this number of articles on.
const SEVERAL: usize = 2;

/// Holds all deletions of a state from elsewhere: an article without a file may never have had a file in this mirror.
pub(super) fn hold_from_elsewhere(plan: &mut Plan, facts: &Facts) {
    if facts.allow_deletes {
        return;
    }
    let rule = HoldRule::ForeignState;
    for action in &mut plan.actions {
        let Some(side) = action.deletes().filter(|_| action.held.is_none()) else {
            continue;
        };
        let from_elsewhere = facts.stock.from_elsewhere || facts.stands(rule, action);
        if from_elsewhere && !facts.approved.contains(&action.fingerprint()) {
            let ways = match side {
                Side::Remote => {
                    "`kbsync restore FOLDER` brings a folder's files back, `kbsync approve` deletes the articles"
                }
                Side::Local | Side::Both => "`kbsync approve` removes the files",
            };
            let reason = format!(
                "the state in `.kbsync` was made for another folder, so its deletions are held; {ways}"
            );
            action.hold(rule, reason);
        }
    }
}

/// Holds the deletions that would empty a category or the mirror.
pub(super) fn hold_emptied(plan: &mut Plan, facts: &Facts, side: Side) {
    if facts.allow_deletes {
        return;
    }
    let homes = &facts.stock.homes;
    let mut left: BTreeMap<CategoryId, usize> = BTreeMap::new();
    for home in homes.values() {
        *left.entry(*home).or_default() += 1;
    }
    let mut going: BTreeMap<CategoryId, usize> = BTreeMap::new();
    let goes = |action: &&Action| action.deletes() == Some(side);
    for action in plan.actions.iter().filter(goes) {
        if let Some(home) = action.id.and_then(|id| homes.get(&id)) {
            *going.entry(*home).or_default() += 1;
        }
    }
    let all: usize = going.values().sum();
    let emptied = homes.len() >= SEVERAL
        && (all == homes.len() || (side == Side::Remote && facts.stock.no_files));
    let mut asked: BTreeMap<Option<CategoryId>, BTreeSet<Digest>> = BTreeMap::new();
    let deletes = |action: &Action| action.held.is_none() && action.deletes() == Some(side);
    let category = |action: &Action| action.id.and_then(|id| homes.get(&id)).copied();
    for action in plan.actions.iter().filter(|action| deletes(action)) {
        if let Some(home) = category(action) {
            let group = (!emptied).then_some(home);
            asked.entry(group).or_default().insert(action.fingerprint());
        }
    }
    for action in plan.actions.iter_mut().filter(|action| deletes(action)) {
        let Some(home) = category(action) else {
            continue;
        };
        let group = (!emptied).then_some(home);
        let approved = asked
            .get(&group)
            .is_none_or(|group| facts.approved.is_superset(group));
        if approved {
            continue;
        }
        let folder = folder_of(&action.path);
        let lately = facts.stock.lately.get(&(side, folder.to_owned())).copied();
        let count = going.get(&home).copied().unwrap_or_default() + lately.unwrap_or_default();
        let takes_all = going.get(&home) == left.get(&home) && count >= SEVERAL;
        if emptied {
            action.hold(HoldRule::MassDeletion, of_mirror(side));
        } else if takes_all {
            let reason = of_category(folder, count, side);
            action.hold(HoldRule::MassDeletion, reason);
        }
    }
}

fn folder_of(path: &str) -> &str {
    path.split_once('/').map_or(path, |(folder, _)| folder)
}

fn of_category(folder: &str, count: usize, side: Side) -> String {
    let restore = quoted(folder);
    match side {
        Side::Remote => format!(
            "these deletions would empty {folder}/ ({count} articles); `kbsync approve` deletes the articles on the service, \
             `kbsync restore {restore}` brings the files back"
        ),
        Side::Local | Side::Both => format!(
            "the service has no article in {folder}/ any more ({count} are gone); `kbsync approve` removes the files, \
             and `kbsync restore PATH` then brings back, as a new article, a file that you want to keep"
        ),
    }
}

const fn of_mirror(side: Side) -> &'static str {
    match side {
        Side::Remote => {
            "no article has a file in the mirror any more; `kbsync restore FOLDER` brings a folder's files back, \
             `kbsync approve` deletes the articles"
        }
        Side::Local | Side::Both => {
            "the service has no article any more; `kbsync approve` removes the files, and `kbsync restore PATH` then \
             brings back, as a new article, a file that you want to keep"
        }
    }
}
