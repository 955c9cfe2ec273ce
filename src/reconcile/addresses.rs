//! Public addresses: who has which, and what an action takes and leaves.

use super::plan::{Action, Plan, Step};
use super::snapshot::{Base, Remote, RemoteSnapshot};
use crate::model::{ArticleId, CategoryId, Field};
use std::collections::BTreeMap;
use std::fmt;

/// A public address: a slug in a category, or that of a category itself.
pub type Address = (Option<CategoryId>, String);

/// Who has an address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Holder {
    Article(ArticleId),
    Category(CategoryId),
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Article(id) => write!(f, "article {id}"),
            Self::Category(id) => write!(f, "category {id}"),
        }
    }
}

/// Notes who is known to have the addresses that are asked for: a refusal holds until that changes.
pub(super) fn note_holders(plan: &mut Plan, base: &Base, remote: &RemoteSnapshot) {
    let holders = holders(&plan.actions, base, remote);
    for action in &mut plan.actions {
        let known = match waits_for(action, &holders) {
            Some(Holder::Article(id)) => Some(id),
            Some(Holder::Category(_)) | None => None,
        };
        if let Some(holder) = action.holder_mut() {
            *holder = known;
        }
    }
}

/// Who has which address on the service now. Nobody is looked for where no action takes an address.
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
        let slug = match remote.categories.get(&row.id) {
            Some((version, _)) => &version.slug,
            None => &row.remote.slug,
        };
        holders.insert((None, slug.clone()), Holder::Category(row.id));
    }
    for (id, (version, _)) in &remote.categories {
        holders.insert((None, version.slug.clone()), Holder::Category(*id));
    }
    for row in base.articles.values() {
        // What was seen of an article counts, not what it was; one that is gone has nothing.
        match remote.articles.get(&row.id) {
            Some(Remote::Present(_) | Remote::Gone) => {}
            None | Some(Remote::NotVisible(_) | Remote::Unknown(_)) => {
                let address = (Some(row.remote.category), row.remote.slug.clone());
                holders.insert(address, Holder::Article(row.id));
            }
        }
    }
    for (id, entry) in &remote.articles {
        if let Remote::Present(seen) = entry {
            let address = (Some(seen.version.category), seen.version.slug.clone());
            holders.insert(address, Holder::Article(*id));
        }
    }
    holders
}

/// The address that an action takes on the service, if it takes one.
pub fn takes(action: &Action) -> Option<Address> {
    match &action.step {
        Step::CreateArticle { version, .. } => Some((Some(version.category), version.slug.clone())),
        Step::CreateCategory { version, .. } => Some((None, version.slug.clone())),
        Step::SettleCategory(settle) if settle.send.contains(&Field::Slug) => {
            Some((None, settle.file.slug.clone()))
        }
        Step::Settle(settle)
            if settle.send.contains(&Field::Slug) || settle.send.contains(&Field::Category) =>
        {
            let category = if settle.send.contains(&Field::Category) {
                settle.file.category
            } else {
                settle.seen.version.category
            };
            let slug = if settle.send.contains(&Field::Slug) {
                settle.file.slug.clone()
            } else {
                settle.seen.version.slug.clone()
            };
            Some((Some(category), slug))
        }
        Step::Settle(_)
        | Step::SettleCategory(_)
        | Step::ParkSlug { .. }
        | Step::DeleteArticle { .. }
        | Step::RemoveFile { .. }
        | Step::Forget { .. }
        | Step::Conflict(_)
        | Step::Wait => None,
    }
}

/// The address that an action frees when it is done, if it frees one.
pub fn leaves(action: &Action) -> Option<Address> {
    let seen = match &action.step {
        Step::DeleteArticle { seen, .. } => seen,
        Step::Settle(settle) if takes(action).is_some() => &settle.seen,
        Step::SettleCategory(settle) if takes(action).is_some() => {
            return Some((None, settle.seen.slug.clone()));
        }
        Step::Settle(_)
        | Step::CreateArticle { .. }
        | Step::CreateCategory { .. }
        | Step::SettleCategory(_)
        | Step::ParkSlug { .. }
        | Step::RemoveFile { .. }
        | Step::Forget { .. }
        | Step::Conflict(_)
        | Step::Wait => return None,
    };
    Some((Some(seen.version.category), seen.version.slug.clone()))
}

/// Who an action is about, once that has an id.
fn about(action: &Action) -> Option<Holder> {
    match &action.step {
        Step::SettleCategory(settle) => Some(Holder::Category(settle.id)),
        Step::Settle(_)
        | Step::CreateArticle { .. }
        | Step::CreateCategory { .. }
        | Step::ParkSlug { .. }
        | Step::DeleteArticle { .. }
        | Step::RemoveFile { .. }
        | Step::Forget { .. }
        | Step::Conflict(_)
        | Step::Wait => action.id.map(Holder::Article),
    }
}

/// Whose address an action frees, if it frees one.
pub(super) fn frees(action: &Action) -> Option<Holder> {
    match &action.step {
        Step::DeleteArticle { id, .. } => Some(Holder::Article(*id)),
        Step::Settle(_) | Step::SettleCategory(_) if takes(action).is_some() => about(action),
        Step::Settle(_)
        | Step::CreateArticle { .. }
        | Step::CreateCategory { .. }
        | Step::SettleCategory(_)
        | Step::ParkSlug { .. }
        | Step::RemoveFile { .. }
        | Step::Forget { .. }
        | Step::Conflict(_)
        | Step::Wait => None,
    }
}

/// Who has to leave before an action can be done, if there is one.
pub(super) fn waits_for(action: &Action, holders: &BTreeMap<Address, Holder>) -> Option<Holder> {
    let holder = *holders.get(&takes(action)?)?;
    (about(action) != Some(holder)).then_some(holder)
}
