//! What needs something that is held, or that nobody leaves, waits itself: addresses, names, categories.

use super::addresses::{Address, Holder, frees, takes, waits_for};
use super::order::{Name, leaves_name, takes_name};
use super::plan::{HoldRule, Plan, Step};
use crate::drill::defect::{self, Defect};
use std::collections::{BTreeMap, BTreeSet};

/// Holds what takes the name of a file that was to leave it and is held itself. Returns whether it did.
pub(super) fn wait_for_names(plan: &mut Plan) -> bool {
    let kept: BTreeMap<Name, String> = plan
        .actions
        .iter()
        .filter(|action| action.held.is_some())
        .filter_map(|action| Some((leaves_name(action)?, action.path.clone())))
        .collect();
    let mut changed = false;
    for action in plan
        .actions
        .iter_mut()
        .filter(|action| action.held.is_none())
    {
        if let Some(path) = takes_name(action).and_then(|name| kept.get(&name)) {
            let reason = format!("its name is free only when {path} is done, which is held");
            action.hold(HoldRule::Waits, reason);
            changed = true;
        }
    }
    changed
}

/// Holds what needs a category, or a folder's new name, that is held. Returns whether it did.
pub(super) fn wait_for_categories(plan: &mut Plan) -> bool {
    let (mut categories, mut folders) = (BTreeSet::new(), BTreeSet::new());
    // Whose folder one of these is stays open, and with it everything that goes by its name.
    let mut open = BTreeSet::new();
    for action in plan.actions.iter().filter(|action| action.held.is_some()) {
        match &action.step {
            Step::CreateCategory {
                provisional,
                folder,
                ..
            } => {
                categories.insert(*provisional);
                open.insert(folder.clone());
            }
            Step::SettleCategory(settle) if settle.from != settle.to => {
                folders.extend(settle.to.clone());
                open.extend(settle.from.clone());
                open.extend(settle.to.clone());
            }
            Step::SettleCategory(_)
            | Step::CreateArticle { .. }
            | Step::Settle(_)
            | Step::ParkSlug { .. }
            | Step::DeleteArticle { .. }
            | Step::RemoveFile { .. }
            | Step::Forget { .. }
            | Step::Conflict(_)
            | Step::Wait => {}
        }
    }
    if open.is_empty() {
        return false;
    }
    plan.records
        .retain(|settle| !folders.contains(&settle.to.folder));
    let mut changed = false;
    for action in plan
        .actions
        .iter_mut()
        .filter(|action| action.held.is_none())
    {
        let (category, places) = match &action.step {
            Step::CreateArticle { version, place, .. } => {
                (Some(version.category), [Some(place), None])
            }
            Step::Settle(settle) => (
                Some(settle.file.category),
                [Some(&settle.to), settle.from.as_ref()],
            ),
            Step::RemoveFile { place, .. } => (None, [Some(place), None]),
            Step::ParkSlug { .. } | Step::DeleteArticle { .. } | Step::Forget { .. } => {
                (None, [None, None])
            }
            Step::CreateCategory { .. }
            | Step::SettleCategory(_)
            | Step::Conflict(_)
            | Step::Wait => continue,
        };
        let folder = action.path.split('/').next().unwrap_or_default();
        let waits = open.contains(folder)
            || category.is_some_and(|id| categories.contains(&id))
            || places
                .into_iter()
                .flatten()
                .any(|place| folders.contains(&place.folder));
        if waits {
            action.hold(
                HoldRule::Waits,
                "its category has to be settled first, which is held",
            );
            changed = true;
        }
    }
    changed
}

/// Holds what wants an address that nobody leaves, or that another one comes to first. Returns whether it did.
pub(super) fn wait_for_addresses(plan: &mut Plan, holders: &BTreeMap<Address, Holder>) -> bool {
    let (mut leaving, mut held) = (BTreeSet::new(), BTreeMap::new());
    for action in &plan.actions {
        match (frees(action), &action.held) {
            (Some(holder), None) => {
                leaving.insert(holder);
            }
            (Some(holder), Some(_)) => {
                held.insert(holder, action.path.clone());
            }
            (None, _) => {}
        }
    }
    let mut takers: BTreeMap<Address, Vec<String>> = BTreeMap::new();
    for action in plan.actions.iter().filter(|action| action.held.is_none()) {
        if let Some(address) = takes(action) {
            takers.entry(address).or_default().push(action.path.clone());
        }
    }
    let mut changed = false;
    for action in plan
        .actions
        .iter_mut()
        .filter(|action| action.held.is_none())
    {
        let Some(address) = takes(action) else {
            continue;
        };
        let slug = address.1.clone();
        let holder = waits_for(action, holders)
            .filter(|holder| !leaving.contains(holder) && !defect::is(Defect::HolderForgotten));
        let verdict = match holder {
            Some(holder) => Some(held.get(&holder).map_or_else(
                || {
                    let reason = format!("its slug \"{slug}\" is that of {holder}; choose another");
                    (HoldRule::Person, reason)
                },
                |path| {
                    let reason = format!(
                        "its slug \"{slug}\" is free only when {path} is done, which is held"
                    );
                    (HoldRule::Waits, reason)
                },
            )),
            None => takers
                .get(&address)
                .and_then(|paths| paths.iter().find(|path| **path != action.path))
                .map(|path| {
                    let reason =
                        format!("its slug \"{slug}\" is also that of {path}; choose another");
                    (HoldRule::Person, reason)
                }),
        };
        if let Some((rule, reason)) = verdict {
            action.hold(rule, reason);
            changed = true;
        }
    }
    changed
}
