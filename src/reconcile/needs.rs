//! Holds actions that need a name, an address or a folder which a held action would free or create, or whose address
//! stays taken.

use super::order::{
    Address, Holder, Name, holder_leaving, holder_to_wait_for, leaves_name, takes, takes_name,
};
use super::plan::{Action, HoldRule, Plan, Step};
use super::snapshot::Base;
use std::collections::{BTreeMap, BTreeSet};

/// A resource that an action can have only after another action.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Need {
    Name(Name),
    Address(Holder),
    Folder(String),
}

/// Holds the actions that are impossible because of held actions or taken addresses.
pub(super) fn wait(plan: &mut Plan, holders: &BTreeMap<Address, Holder>, base: &Base) {
    while wait_for_held(plan, holders) | wait_for_addresses(plan, holders, base) {}
}

/// Holds actions that need a resource of a held action. Returns whether any action was held.
fn wait_for_held(plan: &mut Plan, holders: &BTreeMap<Address, Holder>) -> bool {
    let held: BTreeMap<Need, String> = plan
        .actions
        .iter()
        .filter(|action| action.held.is_some())
        .flat_map(|action| {
            let freed = frees_when_done(action).into_iter();
            freed.map(|need| (need, action.path.clone()))
        })
        .collect();
    if held.is_empty() {
        return false;
    }
    plan.records
        .retain(|settle| !held.contains_key(&Need::Folder(settle.to.folder.clone())));
    let mut changed = false;
    for action in &mut plan.actions {
        let needs = needs(action, holders);
        let first = needs.iter().find_map(|need| held.get(need));
        if let Some(path) = first.filter(|_| action.held.is_none()) {
            let reason = format!("it waits for {path}, which is held");
            action.hold(HoldRule::Waits, reason);
            changed = true;
        }
    }
    changed
}

/// Returns the resources that are available only after an action.
fn frees_when_done(action: &Action) -> Vec<Need> {
    let name = leaves_name(action).map(Need::Name);
    let address = holder_leaving(action).map(Need::Address);
    let mut freed: Vec<Need> = name.into_iter().chain(address).collect();
    let folders = action.folders_settled().into_iter();
    freed.extend(folders.cloned().map(Need::Folder));
    freed
}

/// Returns the resources that an action needs and that another action or article may hold.
fn needs(action: &Action, holders: &BTreeMap<Address, Holder>) -> Vec<Need> {
    let name = takes_name(action).map(Need::Name);
    let address = holder_to_wait_for(action, holders).map(Need::Address);
    let mut needs: Vec<Need> = name.into_iter().chain(address).collect();
    let folder = Need::Folder(action.folder().to_owned());
    match &action.step {
        Step::Settle(settle) => {
            let from = settle.from().map(|place| place.folder.clone());
            needs.extend(from.map(Need::Folder));
            needs.push(folder);
        }
        Step::CreateArticle { .. }
        | Step::DeleteArticle { .. }
        | Step::RemoveFile { .. }
        | Step::Forget { .. } => needs.push(folder),
        Step::CreateCategory { .. } | Step::SettleCategory(_) | Step::Conflict(_) | Step::Wait => {}
    }
    needs
}

/// Holds actions that take an address whose holder keeps it, or that two actions take. Actions that take each other's
/// addresses in a circle are all held. A category never takes an address that another category still has. Returns
/// whether any action was held.
fn wait_for_addresses(plan: &mut Plan, holders: &BTreeMap<Address, Holder>, base: &Base) -> bool {
    let leaving = leaving(&plan.actions, holders);
    let mut takers: BTreeMap<Address, Vec<String>> = BTreeMap::new();
    for action in plan.actions.iter().filter(|action| action.held.is_none()) {
        if let Some(address) = takes(action) {
            takers.entry(address).or_default().push(action.path.clone());
        }
    }
    let judge = |action: &Action| {
        let address = takes(action).filter(|_| action.held.is_none())?;
        let is_category = matches!(action.step, Step::SettleCategory(_));
        let holder = holder_to_wait_for(action, holders)
            .filter(|holder| is_category || !leaving.contains(holder));
        let mut others = takers.get(&address).into_iter().flatten();
        let other = others.find(|path| **path != action.path);
        let rule = match holder {
            Some(holder) if leaving.contains(&holder) => HoldRule::Waits,
            Some(_) | None => HoldRule::Person,
        };
        let holder = holder.map(|holder| path_of(holder, &plan.actions, base));
        let holder = holder.or_else(|| other.cloned())?;
        Some((rule, taken(&address.1, &holder, rule)))
    };
    let held: Vec<_> = plan.actions.iter().map(judge).collect();
    let changed = held.iter().any(Option::is_some);
    for (action, held) in plan.actions.iter_mut().zip(held) {
        if let Some((rule, reason)) = held {
            action.hold(rule, reason);
        }
    }
    changed
}

fn taken(slug: &str, by: &str, rule: HoldRule) -> String {
    if rule == HoldRule::Waits {
        return format!(
            "its slug \"{slug}\" belongs to {by} until this sync ends; run `kbsync sync` once more"
        );
    }
    format!(
        "its slug \"{slug}\" belongs to {by}: choose another, or run `kbsync sync` again once {by} has another slug (if {by} is \
         in conflict, `kbsync resolve` settles that); to swap two slugs, use a third slug in between"
    )
}

/// Returns the holder's path in the mirror, or its id if it has no path.
fn path_of(holder: Holder, actions: &[Action], base: &Base) -> String {
    let mut leavers = actions
        .iter()
        .filter(|action| holder_leaving(action) == Some(holder));
    let now = leavers.next().map(|action| action.path.clone());
    match holder {
        Holder::Article(id) => {
            let conflict = base.conflicts.get(&id).map(|row| &row.place);
            let row = base.articles.get(&id).map(|row| &row.place);
            let known = row.or(conflict).map(ToString::to_string);
            now.or(known).unwrap_or_else(|| format!("article {id}"))
        }
        Holder::Category(id) => {
            let row = base.categories.get(&id);
            let folder = now.or_else(|| row.and_then(|row| row.folder.clone()));
            folder.map_or_else(|| format!("category {id}"), |folder| format!("{folder}/"))
        }
    }
}

/// Returns the holders that leave their address in this plan: those that wait for no other holder, and those that wait
/// only for such holders.
fn leaving(actions: &[Action], holders: &BTreeMap<Address, Holder>) -> BTreeSet<Holder> {
    let mut leaving = BTreeSet::new();
    loop {
        let can_leave = |action: &&Action| {
            let holder = holder_to_wait_for(action, holders);
            action.held.is_none() && holder.is_none_or(|holder| leaving.contains(&holder))
        };
        let unheld = actions.iter().filter(can_leave);
        let found: BTreeSet<Holder> = unheld.filter_map(holder_leaving).collect();
        if found.len() == leaving.len() {
            return leaving;
        }
        leaving = found;
    }
}
