//! Folders that articles need or the settings ask for, and those that went.
//!
//! This is the second pass over the categories: it comes after the articles, which say where they go.

use super::World;
use super::plan::{Action, HoldRule, Kind, SettleCategory, Step};
use super::planner::Planner;
use crate::model::base::CategoryRow;
use crate::model::{CategoryId, CategoryVersion, Field, Revision, Side, path};
use std::collections::BTreeSet;

impl World<'_> {
    fn known_categories(&self) -> BTreeSet<CategoryId> {
        let read = self.remote.categories.keys();
        read.chain(self.base.categories.keys()).copied().collect()
    }
}

/// Folders that articles need or the settings ask for, and those that went.
pub(super) fn missing_folders(planner: &mut Planner<'_>) {
    let world = planner.world;
    let mut known = world.known_categories();
    known.retain(|id| !world.paired.categories.contains_key(id));
    for id in known {
        let Some((version, revision)) = world.remote_category(id) else {
            continue;
        };
        let row = world.base.categories.get(&id);
        let wanted = row.is_none()
            && world.policy.direction.pulls()
            && world.policy.scope.is_empty()
            && world.policy.wanted_categories.contains(&id);
        if wanted && world.unreadable_home(id, &version.slug).is_none() {
            planner.names.give_folder(id, &version.slug);
        }
        let to = planner.names.folder(id).map(str::to_owned);
        match (to, row) {
            (Some(folder), _) => {
                let mut settle = SettleCategory::as_seen(id, version, revision);
                settle.to = Some(folder.clone());
                settle.write = true;
                let step = Step::SettleCategory(Box::new(settle));
                let (kind, side) = (Kind::CreateCategory, Side::Local);
                planner.push(Action::new(kind, side, None, folder, step));
            }
            (None, Some(row)) if row.folder.is_some() && may_be_gone(world, id, row) => {
                folder_gone(planner, row, version, revision);
            }
            // Its articles are not wanted here; it need not be read again for that.
            (None, None) if !world.policy.wanted_categories.contains(&id) => {
                let record = SettleCategory::as_seen(id, version, revision);
                planner.plan.category_records.push(record);
            }
            (None, _) => {}
        }
    }
}

fn may_be_gone(world: World<'_>, id: CategoryId, row: &CategoryRow) -> bool {
    let claimed = world.local.categories.iter();
    world.local.complete
        && world.out_of_sight(id).is_none()
        && claimed
            .map(|category| category.id)
            .all(|claim| claim != Some(id))
        && row.folder.as_ref().is_some_and(|folder| {
            let there = world.local.top.contains(&path::fold(folder));
            !world.local.unreadable.contains(folder)
                && (!there || is_of_another(world, id, folder))
                && world.policy.covers_folder(folder)
        })
}

/// Returns whether another category's folder lies where this one's was: two rows with one folder would give
/// the files in it to the wrong category.
fn is_of_another(world: World<'_>, id: CategoryId, folder: &str) -> bool {
    let mut paired = world.paired.categories.iter();
    paired.any(|(other, category)| *other != id && category.folder == folder)
}

/// The writer removed the folder: the category stays, since the API cannot delete it (`docs/api.md`, A1.3). Said
/// once.
fn folder_gone(
    planner: &mut Planner<'_>,
    row: &CategoryRow,
    version: CategoryVersion,
    revision: Revision,
) {
    let note = "its folder was removed here; the category stays on the service, because only the dashboard can delete a \
                category";
    let folder = row.folder.clone().unwrap_or_default();
    let step = Step::SettleCategory(Box::new(SettleCategory {
        from: Some(folder.clone()),
        file: row.local.clone(),
        unsent: row.local.clone(),
        ..SettleCategory::as_seen(row.id, version, revision)
    }));
    let mut action = Action::new(Kind::Forget, Side::Local, None, folder, step);
    action.note = Some(note.to_owned());
    planner.push(action);
}

/// Articles without a place wait when their category could not be created or read.
pub(super) fn wait_for_categories(planner: &mut Planner<'_>) {
    let mut known: BTreeSet<CategoryId> = planner.world.known_categories();
    for action in &planner.plan.actions {
        if let Step::CreateCategory { provisional, .. } = &action.step {
            known.insert(*provisional);
        }
    }
    for action in &mut planner.plan.actions {
        let category = match (&action.step, action.as_settle()) {
            (Step::CreateArticle { version, .. }, _) => Some(version.category),
            (_, Some(settle)) if settle.send.contains(&Field::Category) => {
                Some(settle.file.category)
            }
            _ => None,
        };
        if category.is_some_and(|id| !known.contains(&id)) {
            action.hold(
                HoldRule::Waits,
                "its category does not exist on the service yet; where its folder or _category.yaml is reported, mend that first",
            );
        }
    }
}
