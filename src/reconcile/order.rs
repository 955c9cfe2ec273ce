//! The order of a plan: categories, then actions that only touch the mirror, then actions that change the service.
//! Deletions come last, except those that free a slug for another action.
//!
//! A name in the mirror belongs to one file at a time: a removal that frees a wanted name comes first. A slug belongs
//! to one article of a category at a time, and to one category of the workspace: an action that takes a slug comes
//! after the action that frees the slug in the same plan. `needs` holds the actions whose slug stays taken.

use super::needs::wait;
use super::plan::{Action, Plan, Step};
use super::snapshot::{Base, Remote, RemoteSnapshot};
use crate::model::{ArticleId, CategoryId, Field, Place, Version, path};
use std::collections::{BTreeMap, BTreeSet};

/// Orders a guarded plan.
pub fn arrange(plan: &mut Plan, base: &Base, remote: &RemoteSnapshot) {
    let holders = holders(&plan.actions, base, remote);
    wait(plan, &holders, base);
    let unheld = || plan.actions.iter().filter(|action| action.held.is_none());
    let names: BTreeSet<Name> = plan.actions.iter().filter_map(takes_name).collect();
    let addresses: BTreeSet<Address> = unheld().filter_map(takes).collect();
    let freeing = unheld().filter_map(|action| Some((holder_leaving(action)?, action)));
    let freeing: BTreeMap<Holder, &Action> = freeing.collect();
    let keys = plan.actions.iter().map(|action| {
        let is_wanted = if let Step::RemoveFile { place, .. } = &action.step {
            names.contains(&name(place))
        } else {
            let freed = freed_address(action).filter(|_| action.held.is_none());
            freed.is_some_and(|address| addresses.contains(&address))
        };
        // There are no circles: `wait` has held the actions that wait for each other. The limit keeps a mistake there
        // from becoming an endless loop.
        let chain = std::iter::successors(Some(action), |action| {
            freeing.get(&holder_to_wait_for(action, &holders)?).copied()
        });
        let chain = chain.take(plan.actions.len());
        // A folder may take the name that another folder has just left: renames of folders stay in the order of
        // planning.
        let path = Some(&action.path).filter(|_| !renames_folder(action));
        (phase(action, is_wanted), chain.count(), path.cloned())
    });
    let keys: Vec<_> = keys.collect();
    let mut ordered: Vec<_> = keys
        .into_iter()
        .zip(std::mem::take(&mut plan.actions))
        .collect();
    ordered.sort_by(|(one, _), (other, _)| one.cmp(other));
    plan.actions = ordered.into_iter().map(|(_, action)| action).collect();
    plan.problems.sort();
    plan.problems.dedup();
}

fn phase(action: &Action, is_wanted: bool) -> u8 {
    match &action.step {
        Step::CreateCategory { .. } | Step::SettleCategory(_) => 0,
        Step::Forget { .. } => 1,
        Step::RemoveFile { .. } if is_wanted => 1,
        Step::Settle(settle) if !settle.sends() => 2,
        Step::Conflict(_) | Step::Wait => 3,
        Step::CreateArticle { .. } | Step::Settle(_) => 4,
        Step::DeleteArticle { .. } if is_wanted => 4,
        Step::DeleteArticle { .. } => 5,
        Step::RemoveFile { .. } => 6,
    }
}

/// A name in a folder, with its case folded: only one file can have the name.
pub(super) type Name = (String, String);

fn name(place: &Place) -> Name {
    (place.folder.clone(), path::fold(&place.file))
}

/// Returns the name that an action takes in the mirror, if any.
pub(super) fn takes_name(action: &Action) -> Option<Name> {
    let settle = action.as_settle()?;
    settle.moves_file().then(|| name(&settle.to))
}

/// Returns the name that an action frees in the mirror, if any.
pub(super) fn leaves_name(action: &Action) -> Option<Name> {
    if let Step::RemoveFile { place, .. } = &action.step {
        return Some(name(place));
    }
    let settle = action.as_settle()?;
    let from = settle.from().filter(|_| settle.moves_file());
    from.map(name)
}

fn renames_folder(action: &Action) -> bool {
    matches!(&action.step, Step::SettleCategory(settle) if settle.from.is_some() && settle.from != settle.to)
}

/// A public address: a slug in a category, or the slug of a category itself.
pub type Address = (Option<CategoryId>, String);

/// The holder of an address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Holder {
    Article(ArticleId),
    Category(CategoryId),
}

/// Returns the present holder of each address on the service; nothing if no action takes an address.
pub(super) fn holders(
    actions: &[Action],
    base: &Base,
    remote: &RemoteSnapshot,
) -> BTreeMap<Address, Holder> {
    let mut holders = BTreeMap::new();
    if actions.iter().all(|action| takes(action).is_none()) {
        return holders;
    }
    for row in base.categories.values() {
        if !remote.categories.contains_key(&row.id) {
            holders.insert((None, row.remote.slug.clone()), Holder::Category(row.id));
        }
    }
    for (id, (version, _)) in &remote.categories {
        holders.insert((None, version.slug.clone()), Holder::Category(*id));
    }
    for row in base.articles.values() {
        // The observed address counts, not the recorded one; an article that is gone has no address.
        match remote.articles.get(&row.id) {
            Some(Remote::Present(_) | Remote::Gone) => {}
            None | Some(Remote::NotVisible(_) | Remote::Unknown(_) | Remote::Foreign) => {
                holders.insert(address(&row.remote), Holder::Article(row.id));
            }
        }
    }
    for (id, entry) in &remote.articles {
        if let Remote::Present(seen) = entry {
            holders.insert(address(&seen.version), Holder::Article(*id));
        }
    }
    holders
}

/// Returns the address that an action takes on the service, if any.
pub fn takes(action: &Action) -> Option<Address> {
    match &action.step {
        // If the service has created the article already, only the id is missing.
        Step::CreateArticle { version, .. } => action.id.is_none().then(|| address(version)),
        Step::CreateCategory { version, .. } => Some((None, version.slug.clone())),
        Step::SettleCategory(settle) => {
            let sent = settle.send.contains(&Field::Slug);
            sent.then(|| (None, settle.file.slug.clone()))
        }
        Step::Settle(settle) if settle.sends_address() => Some(address(&settle.sent_over())),
        Step::Settle(_)
        | Step::DeleteArticle { .. }
        | Step::RemoveFile { .. }
        | Step::Forget { .. }
        | Step::Conflict(_)
        | Step::Wait => None,
    }
}

/// Returns the address that is free once an action is done, if any.
pub fn freed_address(action: &Action) -> Option<Address> {
    if let Step::DeleteArticle { seen, .. } = &action.step {
        return Some(address(&seen.version));
    }
    takes(action)?;
    if let Step::SettleCategory(settle) = &action.step {
        return Some((None, settle.seen.slug.clone()));
    }
    Some(address(&action.as_settle()?.seen.version))
}

fn address(version: &Version) -> Address {
    (Some(version.category), version.slug.clone())
}

/// Returns the article or category of an action, if it has an id already.
fn about(action: &Action) -> Option<Holder> {
    if let Step::SettleCategory(settle) = &action.step {
        return Some(Holder::Category(settle.id));
    }
    action.id.map(Holder::Article)
}

/// Returns the article or category whose address an action frees, if any.
pub(super) fn holder_leaving(action: &Action) -> Option<Holder> {
    freed_address(action).and_then(|_| about(action))
}

/// Returns the holder that must leave an address before an action can be done.
pub(super) fn holder_to_wait_for(
    action: &Action,
    holders: &BTreeMap<Address, Holder>,
) -> Option<Holder> {
    let holder = *holders.get(&takes(action)?)?;
    (about(action) != Some(holder)).then_some(holder)
}
