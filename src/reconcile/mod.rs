//! From what was seen to what is to be done: `(base, local, remote, policy) -> plan`.
//!
//! Per article, from base B, local L, remote R:
//!
//! | L vs B | R vs B | action |
//! |---|---|---|
//! | unchanged | unchanged | none |
//! | modified | unchanged | update remote, changed fields only |
//! | unchanged | modified | update local |
//! | modified | modified, now equal | adopt |
//! | modified | modified, differ | merge field by field and block by block; else conflict |
//! | deleted | unchanged | delete remote, guarded |
//! | deleted | modified | the edit wins: restore the file |
//! | unchanged | gone, confirmed | delete local, guarded |
//! | modified | gone, confirmed | conflict: held |
//! | deleted | gone | forget |
//! | unchanged or modified | not visible | nothing is deleted: held; an edit waits until its target is seen |
//! | deleted | not visible | held |
//! | created | none | create remote |
//! | none | created | create local |
//! | created | created, same place | equal: adopt; differ: conflict |
//!
//! Everything here is pure: no clock, no files, no network, no logging; nothing can fail. Whatever cannot
//! be told is an [`Outcome`](plan::Outcome), never an absence. Every key of the inputs has exactly one
//! outcome, which is asserted.

mod absent;
mod action;
mod addresses;
mod articles;
pub mod behind;
mod categories;
pub mod change;
mod conflict;
mod creation;
pub mod deletions;
mod flags;
mod folders;
pub mod guard;
pub mod merge;
mod names;
mod needs;
pub mod new_categories;
pub mod order;
pub mod pairing;
pub mod plan;
mod planner;
pub mod scope;
mod settle;
pub mod snapshot;
#[cfg(test)]
mod tests;
mod unseen;

use crate::model::Place;
pub(crate) use absent::{place_in_conflict, removed_in_conflict};
pub(crate) use articles::{is_calm, is_outdated};
pub(crate) use conflict::{copies_of, copy_of};
pub(crate) use flags::listed_as_known;
use pairing::Paired;
use plan::{Key, Plan};
use planner::Planner;
use snapshot::{Base, Bodies, LocalSnapshot, Policy, RemoteSnapshot};
pub(crate) use unseen::{ANOTHERS, ways_without_article};

/// The input of a plan.
#[derive(Clone, Copy, Debug)]
pub struct World<'a> {
    /// The content of both sides when they last agreed.
    pub base: &'a Base,
    /// The mirror.
    pub local: &'a LocalSnapshot,
    /// The mirror, with every file and folder given its identity.
    pub paired: &'a Paired,
    /// The service.
    pub remote: &'a RemoteSnapshot,
    /// Bodies of articles that changed on both sides.
    pub bodies: &'a Bodies,
    /// The rules.
    pub policy: &'a Policy,
    /// The places where nothing may be written.
    pub out_of_reach: OutOfReach<'a>,
}

/// Returns whether nothing may be written at a place: it is ignored, or in motion.
#[derive(Clone, Copy)]
pub struct OutOfReach<'a>(pub &'a dyn Fn(&Place) -> bool);

impl std::fmt::Debug for OutOfReach<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OutOfReach")
    }
}

/// Makes the plan, before guards and order.
pub fn reconcile(world: World<'_>) -> Plan {
    let addresses = planner::addresses(world.paired);
    let mut planner = Planner::new(world, &addresses);
    categories::plan_categories(&mut planner);
    articles::plan_articles(&mut planner);
    folders::missing_folders(&mut planner);
    folders::wait_for_categories(&mut planner);
    let plan = planner.plan;
    debug_assert!(
        unaccounted(&world, &plan).is_empty(),
        "keys without an outcome"
    );
    plan
}

/// Makes the plan, guards it and puts it in order.
pub fn plan(world: World<'_>, facts: &guard::Facts) -> Plan {
    let mut plan = reconcile(world);
    guard::hold(&mut plan, facts);
    order::arrange(&mut plan, world.base, world.remote);
    plan
}

/// Checks the books: keys of the inputs that the plan does not account for.
pub fn unaccounted(world: &World<'_>, plan: &Plan) -> Vec<Key> {
    let articles = world
        .base
        .articles
        .keys()
        .chain(world.paired.files.keys())
        .chain(world.paired.unknown.keys())
        .chain(world.remote.articles.keys())
        .map(|id| Key::Article(*id));
    let files = world
        .paired
        .fresh
        .iter()
        .map(|file| Key::File(file.place.clone()));
    articles
        .chain(files)
        .filter(|key| !plan.outcomes.contains_key(key))
        .collect()
}
