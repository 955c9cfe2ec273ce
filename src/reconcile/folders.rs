//! Folders that articles need or the settings ask for, and those that went.
//!
//! This is the second pass over the categories: it comes after the articles, which say where they go.

use super::articles::Planner;
use super::plan::{Action, HoldRule, Kind, SettleCategory, Step};
use crate::model::base::CategoryRow;
use crate::model::{CategoryId, CategoryVersion, Field, Revision, Side, path};

impl Planner<'_> {
    /// Folders that articles need or the settings ask for, and those that went.
    pub(super) fn missing_folders(&mut self) {
        let known: Vec<CategoryId> = self
            .remote
            .categories
            .keys()
            .chain(self.base.categories.keys())
            .copied()
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .filter(|id| !self.paired.categories.contains_key(id))
            .collect();
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
                (Some(folder), _) => self.create_folder(id, folder, version, revision),
                (None, Some(row)) if row.folder.is_some() && self.may_be_gone(id, row) => {
                    self.folder_gone(id, row, version, revision);
                }
                // Its articles are not wanted here; it need not be read again for that.
                (None, None) if !self.policy.wanted_categories.contains(&id) => {
                    self.plan.category_records.push(SettleCategory {
                        id,
                        from: None,
                        to: None,
                        file: version.clone(),
                        write: false,
                        send: Vec::new(),
                        unsent: version.clone(),
                        seen: version,
                        revision,
                    });
                }
                (None, _) => {}
            }
        }
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

    fn create_folder(
        &mut self,
        id: CategoryId,
        folder: String,
        version: CategoryVersion,
        revision: Revision,
    ) {
        self.push(Action::new(
            Kind::CreateCategory,
            Side::Local,
            None,
            folder.clone(),
            Step::SettleCategory(Box::new(SettleCategory {
                id,
                from: None,
                to: Some(folder),
                file: version.clone(),
                write: true,
                send: Vec::new(),
                unsent: version.clone(),
                seen: version,
                revision,
            })),
        ));
    }

    /// The writer removed the folder: the category stays, since the API cannot delete it (`docs/api.md`, A1.3). Said
    /// once.
    fn folder_gone(
        &mut self,
        id: CategoryId,
        row: &CategoryRow,
        version: CategoryVersion,
        revision: Revision,
    ) {
        let Some(folder) = row.folder.clone() else {
            return;
        };
        let note = "the folder was removed; the category itself cannot be deleted through the API, so it stays \
                    on the service, empty or not (said once)";
        let step = Step::SettleCategory(Box::new(SettleCategory {
            id,
            from: Some(folder.clone()),
            to: None,
            file: row.local.clone(),
            write: false,
            send: Vec::new(),
            unsent: row.local.clone(),
            seen: version,
            revision,
        }));
        let mut action = Action::new(Kind::Forget, Side::Local, None, folder, step);
        action.note = Some(note.to_owned());
        self.push(action);
    }

    /// Articles without a place wait when their category could not be created or read.
    pub(super) fn wait_for_categories(&mut self) {
        let created: std::collections::BTreeSet<CategoryId> = self
            .plan
            .actions
            .iter()
            .filter_map(|action| match &action.step {
                Step::CreateCategory { provisional, .. } => Some(*provisional),
                Step::SettleCategory(_)
                | Step::CreateArticle { .. }
                | Step::Settle(_)
                | Step::ParkSlug { .. }
                | Step::DeleteArticle { .. }
                | Step::RemoveFile { .. }
                | Step::Forget { .. }
                | Step::Conflict(_)
                | Step::Wait => None,
            })
            .collect();
        for action in &mut self.plan.actions {
            let category = match &action.step {
                Step::CreateArticle { version, .. } => Some(version.category),
                Step::Settle(settle) if settle.send.contains(&Field::Category) => {
                    Some(settle.file.category)
                }
                Step::Settle(_)
                | Step::CreateCategory { .. }
                | Step::SettleCategory(_)
                | Step::ParkSlug { .. }
                | Step::DeleteArticle { .. }
                | Step::RemoveFile { .. }
                | Step::Forget { .. }
                | Step::Conflict(_)
                | Step::Wait => None,
            };
            let missing = category.filter(|id| {
                !created.contains(id)
                    && (id.is_provisional()
                        || (!self.base.categories.contains_key(id)
                            && !self.remote.categories.contains_key(id)))
            });
            if missing.is_some() {
                action.hold(
                    HoldRule::Waits,
                    "its category does not exist on the service yet",
                );
            }
        }
        self.plan.note_held();
    }
}
