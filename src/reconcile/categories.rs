//! Categories: their words field by field, their folders by slug.
//!
//! They are planned in two passes around the articles: first what is known of them, since a renamed
//! folder takes its files along; then the folders that articles turned out to need.

use super::change::ThreeWay;
use super::plan::{Action, HoldRule, Kind, SettleCategory, Step};
use super::planner::Planner;
use super::settle::{all_fields, new_address};
use super::snapshot::{Keep, LocalCategory};
use super::{World, names};
use crate::model::base::CategoryRow;
use crate::model::path::near::likely_meant;
use crate::model::{CategoryId, CategoryVersion, Field, Revision, Side, path};

impl World<'_> {
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

/// Decides on every category that has a folder.
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
    // A command limited to some files still creates the category that one of them needs.
    let needed =
        world.policy.covers_folder(&local.folder)
            || world.paired.fresh.iter().any(|file| {
                file.version.category == provisional && world.policy.covers(&file.place)
            });
    if !needed {
        return;
    }
    let version = local.version.clone().unwrap_or_else(|| CategoryVersion {
        name: path::readable(&local.folder),
        slug: local.folder.clone(),
        ..CategoryVersion::default()
    });
    let near = near(world, &local.folder, &version.slug);
    planner.push(Action::new(
        Kind::CreateCategory,
        Side::Remote,
        None,
        &local.folder,
        Step::CreateCategory {
            folder: local.folder.clone(),
            provisional,
            near,
            version,
        },
    ));
}

/// The category that a new one may have been meant for, by its folder or its slug.
fn near(world: World<'_>, folder: &str, slug: &str) -> Option<String> {
    let here = world.paired.categories.iter();
    let here = here.filter(|(id, _)| !id.is_provisional());
    let here = here.map(|(_, category)| category.folder.as_str());
    let known = world.base.categories.values();
    let known = known.map(|row| row.remote.slug.as_str());
    let read = world.remote.categories.values();
    let read = read.map(|(version, _)| version.slug.as_str());
    let names: Vec<&str> = here.chain(known).chain(read).collect();
    let near = |name| likely_meant(name, names.iter().copied());
    near(folder).or_else(|| near(slug)).map(str::to_owned)
}

/// Compares a folder with its category: with the base or, on a first meeting, with each other.
fn meet_category(
    planner: &mut Planner<'_>,
    id: CategoryId,
    local: &LocalCategory,
    remote: &CategoryVersion,
    revision: &Revision,
) {
    let world = planner.world;
    let row = world.base.categories.get(&id);
    if !world.policy.covers_folder(&local.folder) {
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
    let (pulls, pushes) = (direction.pulls(), direction.pushes());
    if !way.clashes.is_empty() {
        let Some(keep) = world.choice(None) else {
            clash_of_category(planner, local, &way, remote);
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
    let send = if pushes {
        std::mem::take(&mut way.pushed)
    } else {
        Vec::new()
    };
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
        unsent: way.unsent,
        send,
    };
    category_settle(planner, row, settle, &way.pulled);
}

/// Returns the folder's version of its category. Without a `_category.yaml` it is what both sides agreed on.
fn words_of(local: &LocalCategory, row: &CategoryRow) -> CategoryVersion {
    local.version.clone().unwrap_or_else(|| {
        // Only the folder's name speaks then, and only when it changed.
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
                && row.local == settle.unsent
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
        // A known category's `_category.yaml` was removed, and is written again.
        (true, true) if row.is_none() => (Kind::Adopt, Side::Both),
        (true, _) => (Kind::UpdateCategory, Side::Local),
    };
    let is_moved = settle.send.contains(&Field::Slug);
    let note = is_moved.then(|| new_address(&settle.seen.slug, &settle.file.slug));
    let path = settle.to.clone().unwrap_or_default();
    let step = Step::SettleCategory(Box::new(settle));
    planner.push(Action {
        fields,
        note,
        ..Action::new(kind, side, None, path, step)
    });
}

/// Clashing fields wait for a person.
fn clash_of_category(
    planner: &mut Planner<'_>,
    local: &LocalCategory,
    way: &ThreeWay<CategoryVersion>,
    remote: &CategoryVersion,
) {
    let fields: Vec<Field> = way.clashes.iter().map(|(field, _)| *field).collect();
    // Nothing else shows what the service has.
    let there: Vec<_> = fields
        .iter()
        .map(|field| format!("{}: {}", field.key(), remote.get(*field)))
        .collect();
    let reason = format!(
        "both sides have their own {} (the service has `{}`); make `_category.yaml` and the \
         service agree, or choose: `kbsync sync {} --prefer local` or `--prefer remote`",
        Field::keys(&fields, ", "),
        there.join("`, `"),
        path::quoted(&format!("{}/{}", local.folder, path::CATEGORY_FILE))
    );
    hold_category(planner, local, fields, reason);
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
    planner.push(action);
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
