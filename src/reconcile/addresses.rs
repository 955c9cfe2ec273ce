//! Public addresses: who has which, and what an action takes and leaves.

use super::plan::{Action, Step};
use super::snapshot::{Base, Remote, RemoteSnapshot};
use crate::model::{ArticleId, CategoryId, Field, Version};
use std::collections::BTreeMap;

/// A public address: a slug in a category, or that of a category itself.
pub type Address = (Option<CategoryId>, String);

/// The holder of an address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Holder {
    Article(ArticleId),
    Category(CategoryId),
}

/// Returns the holder of each address on the service now; nothing where no action takes an address.
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
        // The address that was seen counts, not the recorded one; an article that is gone has none.
        match remote.articles.get(&row.id) {
            Some(Remote::Present(_) | Remote::Gone) => {}
            None | Some(Remote::NotVisible(_) | Remote::Unknown(_)) => {
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

/// The address that an action takes on the service, if it takes one.
pub fn takes(action: &Action) -> Option<Address> {
    match &action.step {
        // One that the service has made already only gets its id.
        Step::CreateArticle { version, .. } => action.id.is_none().then(|| address(version)),
        Step::CreateCategory { version, .. } => Some((None, version.slug.clone())),
        Step::SettleCategory(settle) => {
            let sent = settle.send.contains(&Field::Slug);
            sent.then(|| (None, settle.file.slug.clone()))
        }
        Step::Settle(settle) if settle.sends_address() => {
            let mut after = settle.seen.version.clone();
            for field in &settle.send {
                after.take(*field, &settle.file);
            }
            Some(address(&after))
        }
        Step::Settle(_)
        | Step::DeleteArticle { .. }
        | Step::RemoveFile { .. }
        | Step::Forget { .. }
        | Step::Conflict(_)
        | Step::Wait => None,
    }
}

/// The address that an action frees when it is done, if it frees one.
pub fn leaves(action: &Action) -> Option<Address> {
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

/// The article or category that an action is about, once that has an id.
fn about(action: &Action) -> Option<Holder> {
    if let Step::SettleCategory(settle) = &action.step {
        return Some(Holder::Category(settle.id));
    }
    action.id.map(Holder::Article)
}

/// The article or category whose address an action frees, if it frees one.
pub(super) fn frees(action: &Action) -> Option<Holder> {
    leaves(action).and_then(|_| about(action))
}

/// Returns the holder that has to leave an address before an action can be done.
pub(super) fn waits_for(action: &Action, holders: &BTreeMap<Address, Holder>) -> Option<Holder> {
    let holder = *holders.get(&takes(action)?)?;
    (about(action) != Some(holder)).then_some(holder)
}
