//! Actions wait for names, addresses and categories that a held action was to free, or that somebody keeps.

use super::addresses::{Address, Holder, frees, takes, waits_for};
use super::order::{Name, leaves_name, takes_name};
use super::plan::{Action, HoldRule, Plan, Step};
use crate::model::CategoryId;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

/// Something that an action can have only after another action.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Need {
    Name(Name),
    Address(Holder),
    Category(CategoryId),
    Folder(String),
}

/// Holds the actions that cannot be done because of held actions or taken addresses.
pub(super) fn wait(plan: &mut Plan, holders: &BTreeMap<Address, Holder>) {
    while wait_for_held(plan, holders) | wait_for_addresses(plan, holders) {}
}

/// Holds actions that need what a held action settles. Returns whether it held any.
fn wait_for_held(plan: &mut Plan, holders: &BTreeMap<Address, Holder>) -> bool {
    let held: BTreeMap<Need, String> = plan
        .actions
        .iter()
        .filter(|action| action.held.is_some())
        .flat_map(|action| settles(action).map(|need| (need, action.path.clone())))
        .collect();
    if held.is_empty() {
        return false;
    }
    plan.records
        .retain(|settle| !held.contains_key(&Need::Folder(settle.to.folder.clone())));
    let mut changed = false;
    for action in &mut plan.actions {
        let first = needs(action, holders).find_map(|need| held.get(&need));
        if let Some(path) = first.filter(|_| action.held.is_none()) {
            let reason = format!("it can be done only after {path}, which is held");
            action.hold(HoldRule::Waits, reason);
            changed = true;
        }
    }
    changed
}

/// The names and addresses that become free only when an action is done.
fn settles(action: &Action) -> impl Iterator<Item = Need> {
    let mut category = None;
    let mut folders = [None, None];
    if let Step::CreateCategory {
        provisional,
        folder,
        ..
    } = &action.step
    {
        category = Some(*provisional);
        folders = [Some(folder.clone()), None];
    } else if let Step::SettleCategory(settle) = &action.step
        && settle.from != settle.to
    {
        folders = [settle.from.clone(), settle.to.clone()];
    }
    let name = leaves_name(action).map(Need::Name);
    let address = frees(action).map(Need::Address);
    let category = category.map(Need::Category);
    let folders = folders.into_iter().flatten().map(Need::Folder);
    name.into_iter()
        .chain(address)
        .chain(category)
        .chain(folders)
}

/// The names and addresses that an action needs and others have.
fn needs(action: &Action, holders: &BTreeMap<Address, Holder>) -> impl Iterator<Item = Need> {
    let mut category = None;
    let mut folders = [None, None];
    let folder = || Some(action.path.split('/').next()?.to_owned());
    match &action.step {
        Step::CreateArticle { version, .. } => {
            category = Some(version.category);
            folders[0] = folder();
        }
        Step::Settle(settle) => {
            category = Some(settle.file.category);
            let from = settle.from().map(|place| place.folder.clone());
            folders = [folder(), from];
        }
        Step::DeleteArticle { .. } | Step::RemoveFile { .. } | Step::Forget { .. } => {
            folders[0] = folder();
        }
        Step::CreateCategory { .. } | Step::SettleCategory(_) | Step::Conflict(_) | Step::Wait => {}
    }
    let name = takes_name(action).map(Need::Name);
    let address = waits_for(action, holders).map(Need::Address);
    let category = category.map(Need::Category);
    let folders = folders.into_iter().flatten().map(Need::Folder);
    name.into_iter()
        .chain(address)
        .chain(category)
        .chain(folders)
}

/// Holds actions that take an address which somebody keeps, or which two actions take, or that take each other's in a
/// circle. A category takes no address that another category still has. Returns whether it held any.
fn wait_for_addresses(plan: &mut Plan, holders: &BTreeMap<Address, Holder>) -> bool {
    let unheld = || plan.actions.iter().filter(|action| action.held.is_none());
    let wants_to_leave: BTreeSet<Holder> = unheld().filter_map(frees).collect();
    let leaving = leaving(&plan.actions, holders);
    let mut takers: BTreeMap<Address, Vec<String>> = BTreeMap::new();
    for action in unheld() {
        if let Some(address) = takes(action) {
            takers.entry(address).or_default().push(action.path.clone());
        }
    }
    let mut changed = false;
    for action in &mut plan.actions {
        let Some(address) = takes(action).filter(|_| action.held.is_none()) else {
            continue;
        };
        let slug = &address.1;
        let is_category = matches!(action.step, Step::SettleCategory(_));
        let holder =
            waits_for(action, holders).filter(|holder| is_category || !leaving.contains(holder));
        let mut others = takers.get(&address).into_iter().flatten();
        let other = others.find(|path| **path != action.path);
        let (rule, reason) = match (holder, other) {
            (Some(holder), _) if is_category && wants_to_leave.contains(&holder) => {
                // Its address may be free in the next cycle.
                (HoldRule::Waits, taken(slug, &holder))
            }
            (Some(holder), _) if wants_to_leave.contains(&holder) => {
                let reason = format!(
                    "its slug \"{slug}\" is that of {holder}, whose own new slug is not free either; give one of \
                     them a third slug and run `kbsync sync`, then the slug that it is to have"
                );
                (HoldRule::Person, reason)
            }
            (Some(holder), _) => (HoldRule::Person, taken(slug, &holder)),
            (None, Some(path)) => (HoldRule::Person, taken(slug, path)),
            (None, None) => continue,
        };
        action.hold(rule, reason);
        changed = true;
    }
    changed
}

fn taken(slug: &str, by: &impl Display) -> String {
    format!("its slug \"{slug}\" is that of {by}; choose another")
}

/// Returns who leaves an address in this plan: whoever waits for nobody, and whoever waits for these.
fn leaving(actions: &[Action], holders: &BTreeMap<Address, Holder>) -> BTreeSet<Holder> {
    let mut leaving = BTreeSet::new();
    loop {
        let can_leave = |action: &&Action| {
            let holder = waits_for(action, holders);
            action.held.is_none() && holder.is_none_or(|holder| leaving.contains(&holder))
        };
        let unheld = actions.iter().filter(can_leave);
        let found: BTreeSet<Holder> = unheld.filter_map(frees).collect();
        if found.len() == leaving.len() {
            return leaving;
        }
        leaving = found;
    }
}
