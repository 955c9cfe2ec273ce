//! Categories: their words field by field, their folders by slug (design, sections 3 and 4).
//!
//! They are planned in two passes around the articles: first what is known of them, since a renamed
//! folder takes its files along; then the folders that articles turned out to need.

use super::articles::Planner;
use super::change::{self, CategoryThreeWay};
use super::names;
use super::plan::{Action, HoldRule, Kind, Problem, SettleCategory, Step};
use super::snapshot::{LocalCategory, OnConflict};
use crate::model::base::CategoryRow;
use crate::model::{CategoryId, CategoryVersion, Field, Revision, Side, path};

impl Planner<'_> {
    /// Decides on every category that has a folder.
    pub(super) fn categories(&mut self) {
        let paired = self.paired;
        for (&id, local) in &paired.categories {
            if self.local.unready_categories.contains(&local.folder) {
                continue;
            }
            let row = self.base.categories.get(&id);
            let remote = self.remote_category(id);
            match (row, remote) {
                (_, None) if id.is_provisional() => self.create_category(id, local),
                (None, None) => self.plan.problems.push(Problem {
                    path: format!("{}/_category.yaml", local.folder),
                    id: None,
                    message: format!(
                        "category {id} cannot be read on the service; correct the `id:` line, or remove it \
                         to create a new category"
                    ),
                }),
                (None, Some((version, revision))) => self.meet_category(id, local, &version, &revision),
                (Some(row), Some((version, revision))) => {
                    self.settle_category(id, row, local, &version, &revision);
                }
                (Some(row), None) => {
                    self.settle_category(id, row, local, &row.remote, &row.revision);
                }
            }
        }
    }

    /// What is known of a category on the service: as read in this cycle, else as the base says.
    fn remote_category(&self, id: CategoryId) -> Option<(CategoryVersion, Revision)> {
        self.remote.categories.get(&id).cloned().or_else(|| {
            self.base
                .categories
                .get(&id)
                .map(|row| (row.remote.clone(), row.revision.clone()))
        })
    }

    fn create_category(&mut self, provisional: CategoryId, local: &LocalCategory) {
        if !self.policy.direction.pushes() {
            return;
        }
        // A command limited to some files still creates the category that one of them needs.
        let needed = self.policy.covers_folder(&local.folder)
            || self.paired.fresh.iter().any(|file| {
                file.version.category == provisional && self.policy.covers(&file.place)
            });
        if !needed {
            return;
        }
        let version = local.version.clone().unwrap_or_else(|| CategoryVersion {
            name: path::readable(&local.folder),
            slug: local.folder.clone(),
            ..CategoryVersion::default()
        });
        if let Some(other) = self.category_with_slug(&version.slug, provisional) {
            self.plan.problems.push(Problem {
                path: format!("{}/_category.yaml", local.folder),
                id: None,
                message: format!("its slug \"{}\" is that of {other}", version.slug),
            });
            return;
        }
        self.push(Action {
            kind: Kind::CreateCategory,
            side: Side::Remote,
            id: None,
            path: local.folder.clone(),
            fields: Vec::new(),
            note: None,
            held: None,
            step: Step::CreateCategory {
                folder: local.folder.clone(),
                provisional,
                version,
            },
        });
    }

    /// Another folder with this slug, if there is one.
    fn category_with_slug(&self, slug: &str, but: CategoryId) -> Option<&str> {
        self.paired
            .categories
            .iter()
            .filter(|(id, _)| **id != but)
            .find(|(id, category)| {
                category.version.as_ref().map_or_else(
                    || {
                        self.base
                            .categories
                            .get(id)
                            .is_some_and(|row| row.local.slug == slug)
                    },
                    |version| version.slug == slug,
                )
            })
            .map(|(_, category)| category.folder.as_str())
    }

    /// A folder meets a category of which there is no base: every difference is a clash.
    fn meet_category(
        &mut self,
        id: CategoryId,
        local: &LocalCategory,
        remote: &CategoryVersion,
        revision: &Revision,
    ) {
        let mine = local.version.clone().unwrap_or_else(|| CategoryVersion {
            slug: remote.slug.clone(),
            ..remote.clone()
        });
        let way = CategoryThreeWay {
            merged: mine.clone(),
            pulled: Vec::new(),
            pushed: Vec::new(),
            clashes: mine.differing(remote),
            unsent: remote.clone(),
        };
        self.bring_together(id, None, local, way, remote, revision);
    }

    fn settle_category(
        &mut self,
        id: CategoryId,
        row: &CategoryRow,
        local: &LocalCategory,
        remote: &CategoryVersion,
        revision: &Revision,
    ) {
        let mine = local.version.clone().unwrap_or_else(|| {
            // Without `_category.yaml` only the folder's name speaks, and only when it changed.
            let renamed = row.folder.as_deref().is_some_and(|was| was != local.folder);
            let mut version = row.local.clone();
            if renamed {
                version.slug.clone_from(&local.folder);
            }
            version
        });
        let way = change::category_three_way(&row.local, &row.remote, &mine, remote);
        self.bring_together(id, Some(row), local, way, remote, revision);
    }

    fn bring_together(
        &mut self,
        id: CategoryId,
        row: Option<&CategoryRow>,
        local: &LocalCategory,
        mut way: CategoryThreeWay,
        remote: &CategoryVersion,
        revision: &Revision,
    ) {
        let (pulls, pushes) = (
            self.policy.direction.pulls(),
            self.policy.direction.pushes(),
        );
        if !self.policy.covers_folder(&local.folder) {
            return;
        }
        if !way.clashes.is_empty() && !self.settle_category_clashes(&mut way, local, remote) {
            return;
        }
        if !pulls && !way.pulled.is_empty() {
            if !way.pushed.is_empty() {
                let mut fields = way.pushed;
                fields.extend(way.pulled);
                let reason = "both sides changed it; `kbsync sync` brings them together".to_owned();
                self.hold_category(local, fields, reason);
            }
            return;
        }
        let send = if pushes {
            std::mem::take(&mut way.pushed)
        } else {
            Vec::new()
        };
        let to = self.folder_after(id, row, local, &way, remote);
        let write =
            pulls && (!way.pulled.is_empty() || local.version.is_none() || local.id != Some(id));
        let settle = SettleCategory {
            id,
            from: Some(local.folder.clone()),
            to: Some(to.clone()),
            file: way.merged,
            write,
            seen: remote.clone(),
            revision: revision.clone(),
            unsent: way.unsent,
            send,
        };
        let mut fields = settle.send.clone();
        fields.extend(
            way.pulled
                .iter()
                .filter(|field| !settle.send.contains(field)),
        );
        let side = match (settle.send.is_empty(), way.pulled.is_empty()) {
            (false, true) => Side::Remote,
            (true, false) => Side::Local,
            (true, true) | (false, false) => Side::Both,
        };
        if fields.is_empty() && !write {
            self.record_category(row, settle);
            return;
        }
        let note = settle
            .send
            .contains(&Field::Slug)
            .then(|| "its public address changes".to_owned());
        let kind = if fields.is_empty() {
            Kind::Adopt
        } else {
            Kind::UpdateCategory
        };
        self.push(Action {
            kind,
            side,
            id: None,
            path: to,
            fields,
            note,
            held: None,
            step: Step::SettleCategory(Box::new(settle)),
        });
    }

    fn record_category(&mut self, row: Option<&CategoryRow>, settle: SettleCategory) {
        let known = row.is_some_and(|row| {
            row.folder == settle.to
                && row.local == settle.unsent
                && row.remote == settle.seen
                && row.revision == settle.revision
        });
        if !known {
            self.plan.category_records.push(settle);
        }
    }

    /// Settles what clashes as the settings say; otherwise it waits, and `false` is given.
    fn settle_category_clashes(
        &mut self,
        way: &mut CategoryThreeWay,
        local: &LocalCategory,
        remote: &CategoryVersion,
    ) -> bool {
        let fields = std::mem::take(&mut way.clashes);
        match self.policy.on_conflict {
            OnConflict::Hold => {
                let names: Vec<_> = fields.iter().map(|field| field.key()).collect();
                let reason = format!(
                    "both sides have their own {}; make `_category.yaml` agree with the service, or use \
                     `--prefer local|remote`",
                    names.join(", ")
                );
                self.hold_category(local, fields, reason);
                return false;
            }
            OnConflict::Local => {
                for field in fields {
                    way.unsent.take(field, remote);
                    way.pushed.push(field);
                }
            }
            OnConflict::Remote => {
                for field in fields {
                    way.unsent.take(field, remote);
                    way.merged.take(field, remote);
                    way.pulled.push(field);
                }
            }
        }
        true
    }

    fn hold_category(&mut self, local: &LocalCategory, fields: Vec<Field>, reason: String) {
        let mut action = Action {
            kind: Kind::UpdateCategory,
            side: Side::Both,
            id: None,
            path: local.folder.clone(),
            note: None,
            held: None,
            step: Step::Wait,
            fields,
        };
        action.hold(HoldRule::Person, reason);
        self.push(action);
    }

    fn folder_after(
        &mut self,
        id: CategoryId,
        row: Option<&CategoryRow>,
        local: &LocalCategory,
        way: &CategoryThreeWay,
        remote: &CategoryVersion,
    ) -> String {
        let slug_before = row.map_or(local.folder.as_str(), |row| row.local.slug.as_str());
        let follows = way.pulled.contains(&Field::Slug)
            && names::derived(&local.folder, slug_before, id.uuid());
        if !follows {
            return local.folder.clone();
        }
        let to = self.names.rename_folder(id, &local.folder, &remote.slug);
        if to != local.folder {
            self.renamed.insert(local.folder.clone(), to.clone());
        }
        to
    }

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
            if wanted {
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
            && claimed
                .map(|category| category.id)
                .all(|claim| claim != Some(id))
            && row.folder.as_ref().is_some_and(|folder| {
                !self.local.unreadable.contains(folder)
                    && !self.local.top.contains(&path::fold(folder))
                    && self.policy.covers_folder(folder)
            })
    }

    fn create_folder(
        &mut self,
        id: CategoryId,
        folder: String,
        version: CategoryVersion,
        revision: Revision,
    ) {
        self.push(Action {
            kind: Kind::CreateCategory,
            side: Side::Local,
            id: None,
            path: folder.clone(),
            fields: Vec::new(),
            note: None,
            held: None,
            step: Step::SettleCategory(Box::new(SettleCategory {
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
        });
    }

    /// The writer removed the folder: the category stays, since the API cannot delete it (§4). Said once.
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
        self.push(Action {
            kind: Kind::Forget,
            side: Side::Local,
            id: None,
            path: folder.clone(),
            fields: Vec::new(),
            note: Some(note.to_owned()),
            held: None,
            step: Step::SettleCategory(Box::new(SettleCategory {
                id,
                from: Some(folder),
                to: None,
                file: row.local.clone(),
                write: false,
                send: Vec::new(),
                unsent: row.local.clone(),
                seen: version,
                revision,
            })),
        });
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
