//! From the observation to the plan: `(base, local, remote, policy) -> plan`.
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
//! Everything here is pure: no clock, no files, no network, no logging; nothing can fail. An unknown result is an
//! [`Outcome`], never a missing key. Every key of the inputs has an outcome, which debug builds assert.

mod action;
mod articles;
mod categories;
pub mod change;
mod conflict;
mod creation;
pub mod deletions;
pub mod guard;
pub mod merge;
mod missing;
mod names;
mod needs;
pub mod order;
pub mod pairing;
pub mod plan;
pub mod scope;
mod settle;
pub mod snapshot;
#[cfg(test)]
mod tests;

use crate::model::base::ArticleRow;
use crate::model::{ArticleId, CategoryId, CategoryVersion, Place};
pub(crate) use articles::{base_is_current, is_outdated};
pub(crate) use conflict::{copy_of, has_lost_copy};
pub(crate) use missing::{place_in_conflict, removed_in_conflict, ways_without_article};
use names::Names;
use pairing::Paired;
use plan::{Action, Outcome, Plan, Problem};
pub(crate) use settle::listed_as_known;
use snapshot::{Base, Bodies, LocalFile, LocalSnapshot, Policy, RemoteSnapshot, Seen};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

/// The input of a plan.
#[derive(Clone, Copy)]
pub struct World<'a> {
    /// The content of both sides when they last agreed.
    pub base: &'a Base,
    /// The mirror.
    pub local: &'a LocalSnapshot,
    /// The mirror with the identity of every file and folder.
    pub paired: &'a Paired,
    /// The service.
    pub remote: &'a RemoteSnapshot,
    /// Bodies of articles that changed on both sides.
    pub bodies: &'a Bodies,
    /// The rules.
    pub policy: &'a Policy,
    /// The test for places where nothing may be written: ignored places, and places in motion.
    pub out_of_reach: &'a dyn Fn(&Place) -> bool,
}

/// Makes the plan, before guards and order.
pub fn reconcile(world: World<'_>) -> Plan {
    let mut planner = Planner::new(world);
    categories::plan_categories(&mut planner);
    articles::plan_articles(&mut planner);
    categories::missing_folders(&mut planner);
    categories::wait_for_categories(&mut planner);
    let plan = planner.plan;
    debug_assert_eq!(
        plan.outcomes.len(),
        world.articles().collect::<BTreeSet<_>>().len() + world.paired.new_files.len(),
        "each key has one outcome"
    );
    plan
}

impl World<'_> {
    /// Returns the id of every article in the inputs, perhaps more than once.
    fn articles(&self) -> impl Iterator<Item = ArticleId> {
        let known = self.base.articles.keys();
        let local = self.paired.files.keys().chain(self.paired.unknown.keys());
        known
            .chain(local)
            .chain(self.remote.articles.keys())
            .copied()
    }
}

/// The inputs of a plan, and the plan so far.
struct Planner<'a> {
    world: World<'a>,
    names: Names,
    /// Folders that a pulled address renames, from old name to new: categories are planned before articles.
    renamed: BTreeMap<String, String>,
    plan: Plan,
}

/// An article that both sides have, and its base row; `None`: the first meeting.
#[derive(Clone, Copy)]
struct Case<'a> {
    id: ArticleId,
    row: Option<&'a ArticleRow>,
    file: &'a LocalFile,
    seen: &'a Seen,
}

impl<'a> Planner<'a> {
    /// Makes a planner without any decisions.
    fn new(world: World<'a>) -> Self {
        Self {
            world,
            names: Names::new(world.local, world.paired),
            renamed: BTreeMap::new(),
            plan: Plan {
                problems: world.paired.problems.clone(),
                ..Plan::default()
            },
        }
    }

    /// Adds an action. Returns the outcome for its article.
    fn add(&mut self, action: Action) -> Outcome {
        self.plan.actions.push(action);
        Outcome::Decided
    }

    /// Reports a file or an article that is left out.
    fn problem(&mut self, path: impl Display, id: Option<ArticleId>, message: impl Into<String>) {
        self.plan.problems.push(Problem::at(path, id, message));
    }

    /// Returns a place as it will be after the renames of categories.
    fn placed(&self, place: &Place) -> Place {
        self.renamed.get(&place.folder).map_or_else(
            || place.clone(),
            |folder| Place::new(folder, place.file.clone()),
        )
    }

    /// Returns the folder of a category; a category without a folder gets one. `None`: the category cannot be read, or
    /// its folder is not clear.
    fn folder_for(&mut self, id: CategoryId) -> Option<String> {
        if let Some(folder) = self.names.folder(id) {
            return Some(folder.to_owned());
        }
        if self.world.is_claimed(id) {
            return None;
        }
        let (CategoryVersion { slug, .. }, _) = self.world.remote_category(id)?;
        if let Some(folder) = self.world.hidden_folder(id, &slug) {
            return Some(folder);
        }
        let row = self.world.base.categories.get(&id);
        let own = row.and_then(|row| row.folder.as_deref());
        // A folder with a `_category.yaml` that is not this category's is left alone.
        let mut local = self.world.local.categories.iter();
        let own = own.filter(|own| local.all(|category| category.folder != *own));
        let own = own.filter(|folder| self.names.give_back(id, folder));
        Some(own.map_or_else(|| self.names.give_folder(id, &slug), str::to_owned))
    }
}
