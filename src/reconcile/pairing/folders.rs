//! Pairs folders with categories: by the id in `_category.yaml`, by the folder in the state, by the slug.

use super::Paired;
use crate::model::{CategoryId, path};
use crate::reconcile::snapshot::{Base, LocalCategory, LocalSnapshot, RemoteSnapshot};
use std::collections::{BTreeMap, BTreeSet};

/// Returns the categories of the folders in the state. A folder of two rows was left by one of the two categories, so
/// it counts for neither.
pub(super) fn of_rows(base: &Base) -> BTreeMap<&str, CategoryId> {
    let mut owners: BTreeMap<&str, Option<CategoryId>> = BTreeMap::new();
    for row in base.categories.values() {
        if let Some(folder) = row.folder.as_deref() {
            let owner = owners.entry(folder).and_modify(|owner| *owner = None);
            owner.or_insert(Some(row.id));
        }
    }
    let owned = owners.into_iter();
    owned
        .filter_map(|(folder, owner)| Some((folder, owner?)))
        .collect()
}

pub(super) fn pair_folders<'a>(
    base: &Base,
    local: &'a LocalSnapshot,
    remote: &RemoteSnapshot,
    paired: &mut Paired,
) -> BTreeMap<&'a str, CategoryId> {
    let mut by_id: BTreeMap<CategoryId, Vec<&LocalCategory>> = BTreeMap::new();
    let mut left = Vec::new();
    for category in &local.categories {
        match category.id {
            // A copy of another workspace's folder: its files are that workspace's articles.
            Some(id) if remote.foreign.contains(&id) => {}
            Some(id) => by_id.entry(id).or_default().push(category),
            None => left.push(category),
        }
    }
    let owners = of_rows(base);
    let mut folders = BTreeMap::new();
    for (id, mut claimants) in by_id {
        // Sorted, so that the report does not depend on the order of the scan.
        claimants.sort_by(|one, other| one.folder.cmp(&other.folder));
        let home = base
            .categories
            .get(&id)
            .and_then(|row| row.folder.as_deref());
        let keeper = match claimants.as_slice() {
            [only] => {
                let owner = owners.get(only.folder.as_str()).copied();
                let owner = owner.filter(|owner| *owner != id);
                // The category's old folder is gone: it was renamed to a name that another folder left.
                let has_left = home.is_some_and(|home| is_gone(local, home));
                // Folders that exchanged their names, as both sides agree by now: another mirror has sent it.
                let is_agreed = || slug_there(base, remote, id) == Some(only.folder.as_str());
                if let Some(owner) = owner.filter(|_| !has_left && !is_agreed()) {
                    report_replaced(only, owner, id, paired);
                    continue;
                }
                Some(*only)
            }
            several => several
                .iter()
                .copied()
                .find(|category| Some(category.folder.as_str()) == home),
        };
        let Some(keeper) = keeper else {
            report_double(&claimants, paired);
            continue;
        };
        folders.insert(keeper.folder.as_str(), id);
        left.extend(
            claimants
                .into_iter()
                .filter(|category| category.folder != keeper.folder),
        );
    }
    left.sort_by(|one, other| one.folder.cmp(&other.folder));
    let mut claimed: BTreeSet<CategoryId> = folders.values().copied().collect();
    for category in left {
        let id = folder_by_state(base, category, &claimed)
            .or_else(|| folder_by_slug(base, local, remote, category, &claimed))
            .unwrap_or_else(|| CategoryId::provisional(&category.folder));
        claimed.insert(id);
        folders.insert(category.folder.as_str(), id);
    }
    for category in &local.categories {
        if let Some(&id) = folders.get(category.folder.as_str()) {
            paired.categories.insert(id, category.clone());
        }
    }
    folders
}

/// Returns a category's slug on the service.
fn slug_there<'a>(base: &'a Base, remote: &'a RemoteSnapshot, id: CategoryId) -> Option<&'a str> {
    let read = remote.categories.get(&id).map(|(version, _)| version);
    let known = || base.categories.get(&id).map(|row| &row.remote);
    Some(read.or_else(known)?.slug.as_str())
}

fn folder_by_state(
    base: &Base,
    category: &LocalCategory,
    claimed: &BTreeSet<CategoryId>,
) -> Option<CategoryId> {
    base.categories
        .values()
        .find(|row| row.folder.as_deref() == Some(&category.folder) && !claimed.contains(&row.id))
        .map(|row| row.id)
}

fn folder_by_slug(
    base: &Base,
    local: &LocalSnapshot,
    remote: &RemoteSnapshot,
    category: &LocalCategory,
    claimed: &BTreeSet<CategoryId>,
) -> Option<CategoryId> {
    let slug = category
        .version
        .as_ref()
        .map_or(category.folder.as_str(), |version| &version.slug);
    // A category with a folder in the base is found by that folder, and by its slug only if the folder is gone.
    let free = |id: &CategoryId| {
        let row = base.categories.get(id);
        let home = row.and_then(|row| row.folder.as_ref());
        !claimed.contains(id) && home.is_none_or(|home| is_gone(local, home))
    };
    remote
        .categories
        .iter()
        .map(|(id, (version, _))| (*id, version.slug.as_str()))
        .chain(
            base.categories
                .values()
                .map(|row| (row.id, row.remote.slug.as_str())),
        )
        .find(|(id, known)| *known == slug && free(id))
        .map(|(id, _)| id)
}

fn is_gone(local: &LocalSnapshot, folder: &str) -> bool {
    local.complete && !local.unreadable.contains(folder) && !local.top.contains(&path::fold(folder))
}

/// Reports a folder whose file has the id of another category, although the folder of that category was not renamed:
/// all articles in the folder would move to that category.
fn report_replaced(
    category: &LocalCategory,
    owner: CategoryId,
    id: CategoryId,
    paired: &mut Paired,
) {
    let folder = &category.folder;
    let message = format!(
        "the folder of category {owner} now has the id {id}. If that is a mistake, put `id: {owner}` back. If folders \
         exchanged their names, use a third name in between: rename {folder} to it, and sync"
    );
    paired.report(format!("{folder}/{}", path::CATEGORY_FILE), None, message);
}

fn report_double(claimants: &[&LocalCategory], paired: &mut Paired) {
    let names: Vec<_> = claimants
        .iter()
        .map(|category| category.folder.as_str())
        .collect();
    let names = names.join(" and ");
    for category in claimants {
        let message =
            format!("the same category id is in {names}; remove the `id:` line from all but one");
        let path = format!("{}/_category.yaml", category.folder);
        paired.report(path, None, message);
    }
}
