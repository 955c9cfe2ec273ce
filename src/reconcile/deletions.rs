//! Holds deletions: all of them in doubt, else those above `max_deletes`, and those that leave a category or the mirror
//! without articles, whatever `max_deletes` says.
//!
//! Renames and moves do not count as deletions. This file reads no clock; the caller counts the earlier deletions.

use super::guard::{Facts, STILL_HELD};
use super::plan::{Action, HoldRule, Kind, Plan};
use crate::model::limits::MaxDeletes;
use crate::model::{ArticleId, CategoryId, Digest, Side};
use std::collections::{BTreeMap, BTreeSet};

/// The limit on deletions, and the earlier deletions that count against it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Deletions {
    /// The limit.
    pub limit: MaxDeletes,
    /// Whether `--allow-deletes` was given.
    pub allowed: bool,
    /// Articles in the base.
    pub articles: usize,
    /// Earlier deletions on the service that nobody approved.
    pub remote: Earlier,
    /// The same in the mirror.
    pub local: Earlier,
    /// The articles that deletions are counted against.
    pub inventory: Inventory,
}

impl Deletions {
    fn earlier(&self, side: Side) -> Earlier {
        match side {
            Side::Remote => self.remote,
            Side::Local | Side::Both => self.local,
        }
    }
}

/// The number of deleted articles on one side.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Earlier {
    /// In the last 24 hours.
    pub day: usize,
    /// In the last minute: they count as deleted at once with those of the plan.
    pub at_once: usize,
}

/// The articles of the base, against which deletions are counted. The default is empty and holds nothing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Inventory {
    /// The category of every article of the base.
    pub homes: BTreeMap<ArticleId, CategoryId>,
    /// Whether none of these articles has a file any more.
    pub no_files: bool,
    /// Whether the state was made for another folder than this mirror.
    pub from_elsewhere: bool,
}

/// Holds the deletions of one side: all of them in doubt, or for their number, unless a person released exactly these
/// deletions.
pub(super) fn hold_deletions(plan: &mut Plan, facts: &Facts, side: Side) {
    let concerned = |action: &Action| action.held.is_none() && action.deletes() == Some(side);
    let unheld = plan.actions.iter().filter(|action| concerned(action));
    let all: BTreeSet<Digest> = unheld.map(Action::fingerprint).collect();
    if all.is_empty() {
        return;
    }
    // Vanished articles that were not probed yet are held already, and count.
    let vanished = |action: &&Action| {
        let rule = action.held.as_ref().map(|hold| hold.rule);
        action.deletes() == Some(side) && rule == Some(HoldRule::MassDeletion)
    };
    let mut waiting = plan.actions.iter().filter(vanished).count();
    let released = facts.deletions.allowed || (waiting == 0 && facts.approved.is_superset(&all));
    if !released {
        hold_emptied(plan, facts, side);
    }
    let left = plan
        .actions
        .iter()
        .filter(|action| concerned(action))
        .count();
    // Deletions that were just held because they empty a category count, too.
    waiting += all.len() - left;
    // Removed files whose articles could not be read count, too: no person has seen them yet.
    waiting += usize::from(side == Side::Remote) * plan.removed_unreadable;
    let against = against_deleting(facts, side, left, waiting, released);
    let mass = HoldRule::MassDeletion;
    for action in plan.actions.iter_mut().filter(|action| concerned(action)) {
        match &against {
            // The number says more. A deletion that waits for a person still waits after a doubt has passed.
            Some((rule, reason)) if *rule == mass || !facts.is_still_held(mass, action) => {
                action.hold(*rule, reason);
            }
            None if released || !facts.is_still_held(mass, action) => {}
            Some(_) | None => action.hold(mass, STILL_HELD),
        }
    }
}

/// Holds the deletions that would empty a category or the mirror.
fn hold_emptied(plan: &mut Plan, facts: &Facts, side: Side) {
    let homes = &facts.deletions.inventory.homes;
    let home = |action: &Action| homes.get(&action.id?).copied();
    let mut going: BTreeMap<CategoryId, usize> = BTreeMap::new();
    // A deletion that is held because the article cannot be read counts: the article may be gone.
    let may_go = |action: &&Action| action.kind == Kind::Delete && action.side == side;
    for home in plan.actions.iter().filter(may_go).filter_map(home) {
        *going.entry(home).or_default() += 1;
    }
    let all: usize = going.values().sum();
    let emptied = homes.len() >= SEVERAL
        && (all == homes.len() || (side == Side::Remote && facts.deletions.inventory.no_files));
    let left = |category| homes.values().filter(|home| **home == category).count();
    going.retain(|category, count| emptied || *count == left(*category));
    for action in &mut plan.actions {
        let count = home(action).and_then(|home| going.get(&home));
        let Some(count) = count.filter(|_| action.deletes() == Some(side)) else {
            continue;
        };
        let folder = action.folder();
        let what = if emptied {
            "no article of this workspace would be left".to_owned()
        } else if count + facts.deletions.earlier(side).at_once >= SEVERAL {
            format!("these deletions would empty {folder}/")
        } else {
            continue;
        };
        let reason = format!("{what}; {}", ways(side));
        action.hold(HoldRule::MassDeletion, reason);
    }
}

/// The smallest number of deletions for which emptying a category or a mirror is held.
const SEVERAL: usize = 2;

const fn ways(side: Side) -> &'static str {
    match side {
        Side::Remote => {
            "`kbsync approve` shows and releases them, `kbsync restore FOLDER` brings a folder's files back"
        }
        Side::Local | Side::Both => {
            "`kbsync approve` shows and releases them, and `kbsync restore PATH` then brings back, as a new article, a file \
             that you want to keep"
        }
    }
}

/// Returns why deletions on a side are held, with `count` new and `waiting` held ones; `None`: they are not held.
fn against_deleting(
    facts: &Facts,
    side: Side,
    count: usize,
    waiting: usize,
    released: bool,
) -> Option<(HoldRule, String)> {
    let limit = facts.deletions.limit.limit(facts.deletions.articles);
    let earlier = facts.deletions.earlier(side);
    let place = match side {
        Side::Remote => "on the service",
        Side::Local | Side::Both => "in the mirror",
    };
    let (day, at_once) = (earlier.day, count + waiting + earlier.at_once);
    if let Some(doubt) = &facts.doubt {
        let reason = format!("nothing is deleted in a cycle in which {doubt}");
        return Some((HoldRule::Doubt, reason));
    }
    if released {
        return None;
    }
    let what = if at_once > limit {
        format!("{at_once} deletions {place} at once are more than {limit} (`max_deletes`)")
    } else if day + count > limit * 4 {
        format!(
            "with these, {} articles would be deleted {place} within 24 hours, more than {}",
            day + count,
            limit * 4
        )
    } else {
        return None;
    };
    let reason = format!("{what}; {}", ways(side));
    Some((HoldRule::MassDeletion, reason))
}
