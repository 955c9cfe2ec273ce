//! A plan while it is made: what it is made from, the names that are given away, and the plan so far.
//!
//! The modules beside this one decide; each of their functions takes the planner and adds to its plan. Nothing here
//! decides what becomes of an article.

use super::World;
use super::names::Names;
use super::pairing::Paired;
use super::plan::{Action, Outcome, Plan, Problem};
use super::snapshot::{LocalFile, Seen};
use crate::model::base::ArticleRow;
use crate::model::{ArticleId, CategoryId, CategoryVersion, Place};
use std::{
    collections::{BTreeMap, HashMap},
    fmt::Display,
};

/// Everything a plan is made from, and the plan so far.
pub(super) struct Planner<'a> {
    pub(super) world: World<'a>,
    /// The files that ask for each address.
    pub(super) addresses: &'a Addresses<'a>,
    pub(super) names: Names,
    /// Folders that a pulled address renames, old name to new: categories come before articles.
    pub(super) renamed: BTreeMap<String, String>,
    pub(super) plan: Plan,
}

/// An article that both sides have, and what the base says of it; `None`: they meet for the first time.
#[derive(Clone, Copy)]
pub(super) struct Case<'a> {
    pub(super) id: ArticleId,
    pub(super) row: Option<&'a ArticleRow>,
    pub(super) file: &'a LocalFile,
    pub(super) seen: &'a Seen,
}

/// Files by the category and slug that they ask for.
pub(super) type Addresses<'a> = HashMap<(CategoryId, &'a str), Vec<&'a Place>>;

/// Returns the files that ask for each address.
pub(super) fn addresses(paired: &Paired) -> Addresses<'_> {
    let mut addresses = Addresses::new();
    for file in paired.files.values().chain(&paired.fresh) {
        let address = (file.version.category, file.version.slug.as_str());
        addresses.entry(address).or_default().push(&file.place);
    }
    addresses
}

impl<'a> Planner<'a> {
    /// A planner that has decided nothing yet.
    pub(super) fn new(world: World<'a>, addresses: &'a Addresses<'a>) -> Self {
        Self {
            world,
            addresses,
            names: Names::new(world.local, world.paired),
            renamed: BTreeMap::new(),
            plan: Plan {
                problems: world.paired.problems.clone(),
                ..Plan::default()
            },
        }
    }

    /// Adds an action. Returns what becomes of its article.
    pub(super) fn push(&mut self, action: Action) -> Outcome {
        self.plan.actions.push(action);
        Outcome::Planned
    }

    /// Reports something that is left out.
    pub(super) fn problem(
        &mut self,
        path: impl Display,
        id: Option<ArticleId>,
        message: impl Into<String>,
    ) {
        self.plan.problems.push(Problem::at(path, id, message));
    }

    /// A place as it is once categories were renamed.
    pub(super) fn placed(&self, place: &Place) -> Place {
        self.renamed.get(&place.folder).map_or_else(
            || place.clone(),
            |folder| Place::new(folder, place.file.clone()),
        )
    }

    /// The folder of a category; one that has none yet gets it.
    pub(super) fn folder_for(&mut self, id: CategoryId) -> Option<String> {
        if let Some(folder) = self.names.folder(id) {
            return Some(folder.to_owned());
        }
        // A folder that cannot be read is its category's all the same; a second one would claim its articles.
        let row = self.world.base.categories.get(&id);
        let unreadable = |folder: &&String| self.world.local.unreadable.contains(*folder);
        if let Some(folder) = row.and_then(|row| row.folder.as_ref()).filter(unreadable) {
            return Some(folder.clone());
        }
        let (CategoryVersion { slug, .. }, _) = self.world.remote_category(id)?;
        let hidden = self.world.unreadable_home(id, &slug);
        if let Some(folder) = hidden.or_else(|| self.world.out_of_sight(id)) {
            return Some(folder);
        }
        Some(self.names.give_folder(id, &slug))
    }
}
