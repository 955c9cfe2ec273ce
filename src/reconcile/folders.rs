//! Folders that articles need or the settings ask for, and those that went.
//!
//! This is the second pass over the categories: it comes after the articles, which say where they go.

use super::articles::Planner;
use super::plan::{Action, HoldRule, Kind, SettleCategory, Step};
use crate::model::base::CategoryRow;
use crate::model::{CategoryId, CategoryVersion, Field, Revision, Side, path};
use std::collections::BTreeSet;

impl Planner<'_> {
    /// Folders that articles need or the settings ask for, and those that went.
    pub(super) fn missing_folders(&mut self) {
        let mut known = self.known_categories();
        known.retain(|id| !self.paired.categories.contains_key(id));
        for id in known {
            let Some((version, revision)) = self.remote_category(id) else {
                continue;
            };
            let row = self.base.categories.get(&id);
            let wanted = row.is_none()
                && self.policy.direction.pulls()
                && self.policy.scope.is_empty()
                && self.policy.wanted_categories.contains(&id);
            if wanted && self.unreadable_home(id, &version.slug).is_none() {
                self.names.give_folder(id, &version.slug);
            }
            let to = self.names.folder(id).map(str::to_owned);
            match (to, row) {
                (Some(folder), _) => {
                    let mut settle = SettleCategory::as_seen(id, version, revision);
                    settle.to = Some(folder.clone());
                    settle.write = true;
                    let step = Step::SettleCategory(Box::new(settle));
                    let (kind, side) = (Kind::CreateCategory, Side::Local);
                    self.push(Action::new(kind, side, None, folder, step));
                }
                (None, Some(row)) if row.folder.is_some() && self.may_be_gone(id, row) => {
                    self.folder_gone(row, version, revision);
                }
                // Its articles are not wanted here; it need not be read again for that.
                (None, None) if !self.policy.wanted_categories.contains(&id) => {
                    let record = SettleCategory::as_seen(id, version, revision);
                    self.plan.category_records.push(record);
                }
                (None, _) => {}
            }
        }
    }

    fn known_categories(&self) -> BTreeSet<CategoryId> {
        let read = self.remote.categories.keys();
        read.chain(self.base.categories.keys()).copied().collect()
    }

    fn may_be_gone(&self, id: CategoryId, row: &CategoryRow) -> bool {
        let claimed = self.local.categories.iter();
        self.local.complete
            && self.out_of_sight(id).is_none()
            && claimed
                .map(|category| category.id)
                .all(|claim| claim != Some(id))
            && row.folder.as_ref().is_some_and(|folder| {
                let there = self.local.top.contains(&path::fold(folder));
                !self.local.unreadable.contains(folder)
                    && (!there || self.is_of_another(id, folder))
                    && self.policy.covers_folder(folder)
            })
    }

    /// Returns whether another category's folder lies where this one's was: two rows with one folder would give
    /// the files in it to the wrong category.
    fn is_of_another(&self, id: CategoryId, folder: &str) -> bool {
        let mut paired = self.paired.categories.iter();
        paired.any(|(other, category)| *other != id && category.folder == folder)
    }

    /// The writer removed the folder: the category stays, since the API cannot delete it (`docs/api.md`, A1.3). Said
    /// once.
    fn folder_gone(&mut self, row: &CategoryRow, version: CategoryVersion, revision: Revision) {
        let note = "the folder was removed; the category itself cannot be deleted through the API, so it stays \
                    on the service, empty or not (said once)";
        let folder = row.folder.clone().unwrap_or_default();
        let step = Step::SettleCategory(Box::new(SettleCategory {
            from: Some(folder.clone()),
            file: row.local.clone(),
            unsent: row.local.clone(),
            ..SettleCategory::as_seen(row.id, version, revision)
        }));
        let mut action = Action::new(Kind::Forget, Side::Local, None, folder, step);
        action.note = Some(note.to_owned());
        self.push(action);
    }

    /// Articles without a place wait when their category could not be created or read.
    pub(super) fn wait_for_categories(&mut self) {
        let mut known: BTreeSet<CategoryId> = self.known_categories();
        for action in &self.plan.actions {
            if let Step::CreateCategory { provisional, .. } = &action.step {
                known.insert(*provisional);
            }
        }
        for action in &mut self.plan.actions {
            let category = match (&action.step, action.as_settle()) {
                (Step::CreateArticle { version, .. }, _) => Some(version.category),
                (_, Some(settle)) if settle.send.contains(&Field::Category) => {
                    Some(settle.file.category)
                }
                _ => None,
            };
            if category.is_some_and(|id| !known.contains(&id)) {
                let reason = "its category does not exist on the service yet";
                action.hold(HoldRule::Waits, reason);
            }
        }
        self.plan.note_held();
    }
}
