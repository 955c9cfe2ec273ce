//! Holds actions that need a name, an address or a category which a held action would free, or which stays taken.

use super::addresses::{Address, Holder, frees, takes, waits_for};
use super::circle::circle;
use super::order::{Name, leaves_name, takes_name};
use super::plan::{Action, HoldRule, Plan, Step};
use super::snapshot::Base;
use crate::model::CategoryId;
use crate::model::path::quoted;
use std::collections::{BTreeMap, BTreeSet};

/// Something that an action can have only after another action.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Need {
    Name(Name),
    Address(Holder),
    Category(CategoryId),
    Folder(String),
}

/// Holds the actions that cannot be done because of held actions or taken addresses.
pub(super) fn wait(plan: &mut Plan, holders: &BTreeMap<Address, Holder>, base: &Base) {
    while wait_for_held(plan, holders) | wait_for_addresses(plan, holders, base) {}
}

/// Holds actions that need what a held action settles. Returns whether it held any.
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

/// The names and addresses that become free only when an action is done.
fn frees_when_done(action: &Action) -> Vec<Need> {
    let name = leaves_name(action).map(Need::Name);
    let address = frees(action).map(Need::Address);
    let mut settles: Vec<Need> = name.into_iter().chain(address).collect();
    if let Step::CreateCategory {
        provisional,
        folder,
        ..
    } = &action.step
    {
        settles.push(Need::Category(*provisional));
        settles.push(Need::Folder(folder.clone()));
    } else if let Step::SettleCategory(settle) = &action.step
        && settle.from != settle.to
    {
        let folders = [&settle.from, &settle.to].into_iter().flatten();
        settles.extend(folders.cloned().map(Need::Folder));
    }
    settles
}

/// The names and addresses that an action needs and others have.
fn needs(action: &Action, holders: &BTreeMap<Address, Holder>) -> Vec<Need> {
    let name = takes_name(action).map(Need::Name);
    let address = waits_for(action, holders).map(Need::Address);
    let mut needs: Vec<Need> = name.into_iter().chain(address).collect();
    let folder = action.path.split('/').next().unwrap_or_default();
    let folder = Need::Folder(folder.to_owned());
    match &action.step {
        Step::CreateArticle { version, .. } => {
            needs.extend([Need::Category(version.category), folder]);
        }
        Step::Settle(settle) => {
            needs.extend([Need::Category(settle.file.category), folder]);
            needs.extend(
                settle
                    .from()
                    .map(|place| Need::Folder(place.folder.clone())),
            );
        }
        Step::DeleteArticle { .. } | Step::RemoveFile { .. } | Step::Forget { .. } => {
            needs.push(folder);
        }
        Step::CreateCategory { .. } | Step::SettleCategory(_) | Step::Conflict(_) | Step::Wait => {}
    }
    needs
}

/// Holds actions that take an address which somebody keeps, or which two actions take, or that take each other's in a
/// circle. A category takes no address that another category still has. Returns whether it held any.
fn wait_for_addresses(plan: &mut Plan, holders: &BTreeMap<Address, Holder>, base: &Base) -> bool {
    let unheld = || plan.actions.iter().filter(|action| action.held.is_none());
    let wants_to_leave: BTreeSet<Holder> = unheld().filter_map(frees).collect();
    let leaving = leaving(&plan.actions, holders);
    let mut takers: BTreeMap<Address, Vec<String>> = BTreeMap::new();
    for action in unheld() {
        if let Some(address) = takes(action) {
            takers.entry(address).or_default().push(action.path.clone());
        }
    }
    let waiting: BTreeMap<Holder, Holder> = unheld()
        .filter_map(|action| Some((frees(action)?, waits_for(action, holders)?)))
        .collect();
    let name = |holder: Holder| path_of(holder, &plan.actions, base);
    let judge = |action: &Action| {
        let address = takes(action).filter(|_| action.held.is_none())?;
        let slug = &address.1;
        let is_category = matches!(action.step, Step::SettleCategory(_));
        let holder =
            waits_for(action, holders).filter(|holder| is_category || !leaving.contains(holder));
        let mut others = takers.get(&address).into_iter().flatten();
        let other = others.find(|path| **path != action.path);
        let Some(holder) = holder else {
            return Some((HoldRule::Person, taken(slug, other?)));
        };
        if leaving.contains(&holder) {
            let name = name(holder);
            let reason = format!(
                "its slug \"{slug}\" is still that of {name}, which leaves it now; run `kbsync sync` once more"
            );
            return Some((HoldRule::Waits, reason));
        }
        let circle = frees(action).and_then(|about| circle(&about, &waiting));
        let reason = if let Some(members) = circle {
            let mut about = plan.actions.iter();
            let all_settle = about.all(|action| {
                let is_member = frees(action).is_some_and(|holder| members.contains(&holder));
                !is_member || settles_conflict(action)
            });
            in_a_circle(members.into_iter().map(name).collect(), all_settle)
        } else if wants_to_leave.contains(&holder) {
            let name = name(holder);
            format!("its slug \"{slug}\" is that of {name}, whose own new slug is not free either")
        } else if is_in_conflict(holder, base) {
            in_conflict(action, slug, &name(holder))
        } else {
            taken(slug, &name(holder))
        };
        Some((HoldRule::Person, reason))
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

fn taken(slug: &str, by: &str) -> String {
    format!("its slug \"{slug}\" is that of {by}; choose another")
}

/// The reason of actions whose slugs go round in a circle, the same for all of them: the service has no exchange.
fn in_a_circle(mut names: Vec<String>, all_settle_conflicts: bool) -> String {
    let (undo, send) = if all_settle_conflicts {
        (
            "resolve all of them with `--keep remote`",
            "resolve them again",
        )
    } else {
        ("undo that", "run `kbsync sync`")
    };
    names.sort_unstable();
    format!(
        "{} take each other's slugs, and the service cannot exchange them: either {undo}, or give one of them a third slug \
         (rename it, or write `slug:`), {send}, and then give it the slug that it is to have",
        names.join(" and ")
    )
}

fn settles_conflict(action: &Action) -> bool {
    action.as_settle().is_some_and(|settle| settle.settles)
}

/// The reason of an action whose slug an article in conflict has.
fn in_conflict(action: &Action, slug: &str, other: &str) -> String {
    let (path, other) = (quoted(&action.path), quoted(other));
    let settle = if settles_conflict(action) {
        format!("`kbsync resolve {path} {other} --keep local` (or `remote`) settles both at once")
    } else {
        format!("`kbsync resolve {other}` settles that")
    };
    format!(
        "its slug \"{slug}\" is that of {other}, which is in conflict: {settle}; or choose another slug"
    )
}

fn is_in_conflict(holder: Holder, base: &Base) -> bool {
    match holder {
        Holder::Article(id) => base.conflicts.contains_key(&id),
        Holder::Category(_) => false,
    }
}

/// Returns where the holder of an address is in the mirror; one that has no place there is named by its id.
fn path_of(holder: Holder, actions: &[Action], base: &Base) -> String {
    let mut about = actions.iter();
    let now = about.find(|action| frees(action) == Some(holder));
    let now = now.map(|action| action.path.clone());
    let known = || match holder {
        Holder::Article(id) => {
            let conflict = base.conflicts.get(&id).map(|row| &row.place);
            let row = base.articles.get(&id).map(|row| &row.place);
            row.or(conflict).map(ToString::to_string)
        }
        Holder::Category(id) => base.categories.get(&id)?.folder.clone(),
    };
    match (now.or_else(known), holder) {
        (Some(path), Holder::Article(_)) => path,
        (Some(folder), Holder::Category(_)) => format!("{folder}/"),
        (None, _) => holder.to_string(),
    }
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
