//! Categories: their texts field by field, their folders by slug.
//!
//! Categories are planned in two passes around the articles: first the known categories, because a renamed folder takes
//! its files along; then the folders that articles or the settings need, and the folders that are gone.

use super::Planner;
use super::change::ThreeWay;
use super::plan::{Action, HoldRule, Kind, SettleCategory, Step};
use super::settle::{all_fields, new_address};
use super::snapshot::{Keep, LocalCategory};
use super::{World, names};
use crate::model::base::CategoryRow;
use crate::model::path::fold;
use crate::model::path::near::likely_meant;
use crate::model::{CategoryId, CategoryVersion, Field, Revision, Side, path};
use std::collections::BTreeSet;

impl World<'_> {
    fn known_categories(&self) -> BTreeSet<CategoryId> {
        let read = self.remote.categories.keys();
        read.chain(self.base.categories.keys()).copied().collect()
    }

    /// Returns whether the file of some folder has a category's id.
    pub(super) fn is_claimed(&self, id: CategoryId) -> bool {
        let mut categories = self.local.categories.iter();
        categories.any(|category| category.id == Some(id))
    }

    /// Returns the service's version of a category: as read in this cycle, else as in the base.
    pub(super) fn remote_category(&self, id: CategoryId) -> Option<(CategoryVersion, Revision)> {
        self.remote.categories.get(&id).cloned().or_else(|| {
            self.base
                .categories
                .get(&id)
                .map(|row| (row.remote.clone(), row.revision.clone()))
        })
    }
}

/// Plans every category that has a folder.
pub(super) fn plan_categories(planner: &mut Planner<'_>) {
    let world = planner.world;
    let paired = world.paired;
    for (&id, local) in &paired.categories {
        if world.local.unready_categories.contains(&local.folder) {
            continue;
        }
        match world.remote_category(id) {
            None if id.is_provisional() => create_category(planner, id, local),
            None => {
                let message = format!(
                    "category {id} cannot be read on the service; correct the `id:` line, or remove it to create a new category"
                );
                let path = format!("{}/{}", local.folder, path::CATEGORY_FILE);
                planner.problem(path, None, message);
            }
            Some((version, revision)) => meet_category(planner, id, local, &version, &revision),
        }
    }
}

fn create_category(planner: &mut Planner<'_>, provisional: CategoryId, local: &LocalCategory) {
    let world = planner.world;
    if !world.policy.direction.pushes() {
        return;
    }
    // A command limited to some files still creates a category that one of the files needs.
    let mut files = world
        .paired
        .new_files
        .iter()
        .chain(world.paired.files.values());
    let needed = world.policy.scope.covers_folder(&local.folder)
        || files.any(|file| {
            file.version.category == provisional && world.policy.scope.covers(&file.place)
        });
    if !needed {
        return;
    }
    let version = local.version.clone().unwrap_or_else(|| CategoryVersion {
        name: path::readable(&local.folder),
        slug: local.folder.clone(),
        ..CategoryVersion::default()
    });
    let near = near(world, local, &version);
    let near = near.or_else(|| left_by_its_files(world, provisional));
    planner.add(Action::new(
        Kind::CreateCategory,
        Side::Remote,
        None,
        &local.folder,
        Step::CreateCategory {
            folder: local.folder.clone(),
            near,
            version,
        },
    ));
}

/// Returns the existing category that a new folder may have been meant for, by its folder or its slug, or that has the
/// new category's name, as after the copy of a folder, or if its own folder got another name.
fn near(world: World<'_>, new: &LocalCategory, version: &CategoryVersion) -> Option<String> {
    let here = world.paired.categories.iter();
    let here = here.filter(|(id, _)| !id.is_provisional());
    let here = here.map(|(_, category)| category.folder.as_str());
    let known = world.base.categories.values().map(|row| &row.remote);
    let read = world.remote.categories.values();
    let there = known.chain(read.map(|(version, _)| version));
    let slugs = there.map(|version| version.slug.as_str());
    let names: Vec<&str> = here.chain(slugs).collect();
    let near = |name| likely_meant(name, names.iter().copied());
    let same_name = || {
        let mut known = world.known_categories().into_iter();
        let name = fold(&version.name);
        known.find_map(|id| {
            let (known, _) = world.remote_category(id)?;
            let paired = world.paired.categories.get(&id);
            let folder = paired.map_or(&known.slug, |category| &category.folder);
            (fold(&known.name) == name).then(|| folder.clone())
        })
    };
    let near = near(&new.folder).or_else(|| near(&version.slug));
    near.map(str::to_owned).or_else(same_name)
}

/// Returns the former folder of the articles in a new folder, if the former folder is gone: it was probably renamed,
/// and lost its `_category.yaml`.
fn left_by_its_files(world: World<'_>, provisional: CategoryId) -> Option<String> {
    let files = world.paired.files.iter();
    let mut here = files.filter(|(_, file)| file.version.category == provisional);
    here.find_map(|(id, _)| {
        let home = world.base.articles.get(id)?.local.category;
        let is_gone = !world.paired.categories.contains_key(&home);
        let row = world.base.categories.get(&home).filter(|_| is_gone)?;
        // Once its removal was reported, the row has no folder.
        Some(row.folder.as_ref().unwrap_or(&row.remote.slug).clone())
    })
}

/// Compares a folder with its category: with the base or, on a first meeting, directly.
fn meet_category(
    planner: &mut Planner<'_>,
    id: CategoryId,
    local: &LocalCategory,
    remote: &CategoryVersion,
    revision: &Revision,
) {
    let world = planner.world;
    let row = world.base.categories.get(&id);
    if !world.policy.scope.covers_folder(&local.folder) {
        return;
    }
    let mut way = match row {
        Some(row) => {
            let mine = words_of(local, row);
            ThreeWay::of(&row.local, &row.remote, &mine, remote)
        }
        None => ThreeWay::first_meeting(local.version.as_ref().unwrap_or(remote), remote),
    };
    let direction = world.policy.direction;
    let pulls = direction.pulls();
    if !way.clashes.is_empty() {
        let Some(keep) = world.choice(None) else {
            let fields: Vec<Field> = way.clashes.iter().map(|(field, _)| *field).collect();
            let reason = clash_of_category(local, &fields, remote);
            hold_category(planner, local, fields, reason);
            return;
        };
        way.settle_clashes(remote, |_| keep == Keep::Remote);
    }
    if !pulls && !way.pulled.is_empty() {
        if !way.pushed.is_empty() {
            let fields = all_fields(&way.pushed, &way.pulled);
            let reason = "both sides changed it; `kbsync sync` brings them together".to_owned();
            hold_category(planner, local, fields, reason);
        }
        return;
    }
    way.pushed.retain(|_| direction.pushes());
    let to = folder_after(planner, id, row, local, &way, remote);
    let write =
        pulls && (!way.pulled.is_empty() || local.version.is_none() || local.id != Some(id));
    let settle = SettleCategory {
        id,
        from: Some(local.folder.clone()),
        to: Some(to),
        file: way.merged,
        write,
        seen: remote.clone(),
        revision: revision.clone(),
        base_if_unsent: way.base_if_unsent,
        send: way.pushed,
    };
    category_settle(planner, row, settle, &way.pulled);
}

/// Returns the folder's version of its category. Without a `_category.yaml`, that is the agreed version.
fn words_of(local: &LocalCategory, row: &CategoryRow) -> CategoryVersion {
    local.version.clone().unwrap_or_else(|| {
        // Without a `_category.yaml`, only a renamed folder is a change.
        let mut version = row.local.clone();
        if row.folder.as_ref().is_some_and(|was| *was != local.folder) {
            version.slug.clone_from(&local.folder);
        }
        version
    })
}

/// Turns a settlement into an action, a record, or nothing.
fn category_settle(
    planner: &mut Planner<'_>,
    row: Option<&CategoryRow>,
    settle: SettleCategory,
    pulled: &[Field],
) {
    let fields = all_fields(&settle.send, pulled);
    if fields.is_empty() && !settle.write {
        let known = row.is_some_and(|row| {
            row.folder == settle.to
                && row.local == settle.base_if_unsent
                && row.remote == settle.seen
                && row.revision == settle.revision
        });
        if !known {
            planner.plan.category_records.push(settle);
        }
        return;
    }
    let (kind, side) = match (settle.send.is_empty(), pulled.is_empty()) {
        (false, true) => (Kind::UpdateCategory, Side::Remote),
        (false, false) => (Kind::UpdateCategory, Side::Both),
        (true, true) if row.is_none() => (Kind::Adopt, Side::Both),
        // This includes a known category whose `_category.yaml` was removed and is written again.
        (true, _) => (Kind::UpdateCategory, Side::Local),
    };
    let is_moved = settle.send.contains(&Field::Slug);
    let note = is_moved.then(|| new_address(&settle.seen.slug, &settle.file.slug));
    let path = settle.to.clone().unwrap_or_default();
    let step = Step::SettleCategory(Box::new(settle));
    planner.add(Action {
        fields,
        note,
        ..Action::new(kind, side, None, path, step)
    });
}

/// Returns the reason for clashing fields. It quotes the service's values, because no report shows them otherwise.
fn clash_of_category(local: &LocalCategory, fields: &[Field], remote: &CategoryVersion) -> String {
    let there = fields.iter();
    let there = there.map(|field| format!("{}: {}", field.key(), remote.get(*field)));
    let there: Vec<_> = there.collect();
    format!(
        "both sides have their own {} (the service has `{}`); make `_category.yaml` and the \
         service agree, or choose: `kbsync sync {} --prefer local` or `--prefer remote`",
        Field::keys(fields, ", "),
        there.join("`, `"),
        path::quoted(&format!("{}/{}", local.folder, path::CATEGORY_FILE))
    )
}

fn hold_category(
    planner: &mut Planner<'_>,
    local: &LocalCategory,
    fields: Vec<Field>,
    reason: String,
) {
    let (kind, side) = (Kind::UpdateCategory, Side::Both);
    let mut action = Action::new(kind, side, None, &local.folder, Step::Wait);
    action.fields = fields;
    action.hold(HoldRule::Person, reason);
    planner.add(action);
}

fn folder_after(
    planner: &mut Planner<'_>,
    id: CategoryId,
    row: Option<&CategoryRow>,
    local: &LocalCategory,
    way: &ThreeWay<CategoryVersion>,
    remote: &CategoryVersion,
) -> String {
    let slug_before = row.map_or(local.folder.as_str(), |row| row.local.slug.as_str());
    let follows =
        way.pulled.contains(&Field::Slug) && names::derived(&local.folder, slug_before, id.uuid());
    if !follows {
        return local.folder.clone();
    }
    let to = planner.names.rename_folder(id, &local.folder, &remote.slug);
    if to != local.folder {
        planner.renamed.insert(local.folder.clone(), to.clone());
    }
    to
}

/// Plans the folders that articles or the settings need, and the folders that are gone.
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
            && world.policy.wanted_categories.contains(&id)
            && !world.is_claimed(id);
        if wanted && world.hidden_folder(id, &version.slug).is_none() {
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
                planner.add(Action::new(kind, side, None, folder, step));
            }
            (None, Some(row)) => {
                if let Some(folder) = folder_that_went(world, row, &version.slug) {
                    folder_gone(planner, row, folder, version, revision);
                }
            }
            // The articles of the category are not wanted here, so the record saves reading it again.
            (None, None) if !world.policy.wanted_categories.contains(&id) => {
                let record = SettleCategory::as_seen(id, version, revision);
                planner.plan.category_records.push(record);
            }
            (None, None) => {}
        }
    }
}

/// Returns the recorded folder of a category if the folder is gone. Another category's folder may have its name: two
/// rows with one folder would give the files in it to the wrong category.
fn folder_that_went<'b>(world: World<'b>, row: &'b CategoryRow, slug: &str) -> Option<&'b str> {
    let folder = row.folder.as_deref()?;
    let mut paired = world.paired.categories.values();
    let is_left = !world.local.top.contains(&path::fold(folder))
        || paired.any(|category| category.folder == folder);
    let is_gone = world.local.complete
        && world.hidden_folder(row.id, slug).is_none()
        && !world.is_claimed(row.id);
    (is_left && is_gone && world.policy.scope.covers_folder(folder)).then_some(folder)
}

/// The writer removed the folder: the category stays, because the API cannot delete it (`docs/api.md`, A1.3). Reported
/// once.
fn folder_gone(
    planner: &mut Planner<'_>,
    row: &CategoryRow,
    folder: &str,
    version: CategoryVersion,
    revision: Revision,
) {
    let note = "its folder was removed here; the category stays on the service, because only the dashboard can delete a \
                category";
    let step = Step::SettleCategory(Box::new(SettleCategory {
        from: Some(folder.to_owned()),
        file: row.local.clone(),
        base_if_unsent: row.local.clone(),
        ..SettleCategory::as_seen(row.id, version, revision)
    }));
    let mut action = Action::new(Kind::Forget, Side::Local, None, folder, step);
    action.note = Some(note.to_owned());
    planner.add(action);
}

/// Holds articles whose category could not be created or read.
pub(super) fn wait_for_categories(planner: &mut Planner<'_>) {
    let mut known: BTreeSet<CategoryId> = planner.world.known_categories();
    for action in &planner.plan.actions {
        if let Step::CreateCategory { folder, .. } = &action.step {
            known.insert(CategoryId::provisional(folder));
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
                "its category does not exist on the service yet; if the report names its folder or _category.yaml, correct that first",
            );
        }
    }
}
