//! The order of a plan: categories, then what only touches the mirror, then what changes the service, and
//! deletions last, but for those whose slug somebody else waits for (design, sections 3 and 6).
//!
//! A name in the mirror belongs to one file at a time: a removal that frees one comes first.
//! A slug belongs to one article of a category at a time, and to one category of the workspace. Who wants a
//! slug that another one leaves in the same plan comes after it; a circle is opened by a temporary slug; who
//! wants one that nobody leaves has to wait.

use super::plan::{Action, HoldRule, Kind, Plan, SettleCategory, Step};
use super::snapshot::{Base, Remote, RemoteSnapshot};
use crate::model::{ArticleId, CategoryId, Digest, Field, Place, Side, path};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use uuid::Uuid;

/// A public address: a slug in a category, or that of a category itself.
pub type Address = (Option<CategoryId>, String);

/// Who has an address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Holder {
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

/// Puts a guarded plan in order.
pub fn arrange(plan: &mut Plan, base: &Base, remote: &RemoteSnapshot) {
    let holders = holders(base, remote);
    while wait_for_names(plan) | wait_for_addresses(plan, &holders) | wait_for_categories(plan) {}
    plan.note_held();
    let mut actions = std::mem::take(&mut plan.actions);
    let wanted: BTreeSet<Name> = actions.iter().filter_map(takes_name).collect();
    actions.sort_by_cached_key(|action| {
        // A folder's new name may be one that another folder just left: those stay in the order of planning.
        let path = if renames_folder(action) {
            String::new()
        } else {
            action.path.clone()
        };
        (phase(action, &wanted), path)
    });
    let (categories, actions): (Vec<_>, Vec<_>) = actions
        .into_iter()
        .partition(|action| phase(action, &wanted) == PHASE_CATEGORIES);
    let (local, sending): (Vec<_>, Vec<_>) = actions
        .into_iter()
        .partition(|action| phase(action, &wanted) < PHASE_SEND);
    let mut ordered = by_address(categories, &holders);
    ordered.extend(local);
    ordered.extend(by_address(sending, &holders));
    plan.actions = ordered;
    plan.problems.sort();
    plan.problems.dedup();
}

const PHASE_CATEGORIES: u8 = 0;
const PHASE_SEND: u8 = 4;

fn phase(action: &Action, wanted: &BTreeSet<Name>) -> u8 {
    match (&action.step, action.side) {
        (Step::CreateCategory { .. } | Step::SettleCategory(_), _) => PHASE_CATEGORIES,
        (Step::Forget { .. }, _) => 1,
        (Step::RemoveFile { place, .. }, _) if wanted.contains(&name(place)) => 1,
        (Step::Settle(settle), _) if !settle.sends() => 2,
        (Step::Conflict(_) | Step::Wait, _) => 3,
        (Step::CreateArticle { .. } | Step::Settle(_) | Step::ParkSlug { .. }, _) => PHASE_SEND,
        (Step::DeleteArticle { .. }, _) => 5,
        (Step::RemoveFile { .. }, _) => 6,
    }
}

/// A name in a folder, folded: one file has it at a time.
type Name = (String, String);

fn name(place: &Place) -> Name {
    (place.folder.clone(), path::fold(&place.file))
}

/// The name that an action takes in the mirror, if it takes one.
fn takes_name(action: &Action) -> Option<Name> {
    match &action.step {
        Step::Settle(settle) if settle.from.as_ref() != Some(&settle.to) => Some(name(&settle.to)),
        Step::Settle(_)
        | Step::CreateArticle { .. }
        | Step::CreateCategory { .. }
        | Step::SettleCategory(_)
        | Step::ParkSlug { .. }
        | Step::DeleteArticle { .. }
        | Step::RemoveFile { .. }
        | Step::Forget { .. }
        | Step::Conflict(_)
        | Step::Wait => None,
    }
}

/// The name that an action leaves in the mirror, if it leaves one.
fn leaves_name(action: &Action) -> Option<Name> {
    match &action.step {
        Step::RemoveFile { place, .. } => Some(name(place)),
        Step::Settle(settle) => settle
            .from
            .as_ref()
            .filter(|from| **from != settle.to)
            .map(name),
        Step::CreateArticle { .. }
        | Step::CreateCategory { .. }
        | Step::SettleCategory(_)
        | Step::ParkSlug { .. }
        | Step::DeleteArticle { .. }
        | Step::Forget { .. }
        | Step::Conflict(_)
        | Step::Wait => None,
    }
}

fn renames_folder(action: &Action) -> bool {
    matches!(&action.step, Step::SettleCategory(settle) if settle.from.is_some() && settle.from != settle.to)
}

/// Holds what takes the name of a file that was to leave it and is held itself. Tells whether it did.
fn wait_for_names(plan: &mut Plan) -> bool {
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

/// Holds what needs a category, or a folder's new name, that is held. Tells whether it did.
fn wait_for_categories(plan: &mut Plan) -> bool {
    let (mut categories, mut folders) = (BTreeSet::new(), BTreeSet::new());
    for action in plan.actions.iter().filter(|action| action.held.is_some()) {
        match &action.step {
            Step::CreateCategory { provisional, .. } => {
                categories.insert(*provisional);
            }
            Step::SettleCategory(settle) if settle.from != settle.to => {
                folders.extend(settle.to.clone());
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
    if categories.is_empty() && folders.is_empty() {
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
            Step::CreateCategory { .. }
            | Step::SettleCategory(_)
            | Step::ParkSlug { .. }
            | Step::DeleteArticle { .. }
            | Step::Forget { .. }
            | Step::Conflict(_)
            | Step::Wait => (None, [None, None]),
        };
        let waits = category.is_some_and(|id| categories.contains(&id))
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

/// Who has which address on the service now.
fn holders(base: &Base, remote: &RemoteSnapshot) -> BTreeMap<Address, Holder> {
    let mut holders = BTreeMap::new();
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
        let address = (Some(row.remote.category), row.remote.slug.clone());
        holders.insert(address, Holder::Article(row.id));
    }
    for (id, entry) in &remote.articles {
        match entry {
            Remote::Present(_) => {
                if let Some(row) = base.articles.get(id) {
                    let was = (Some(row.remote.category), row.remote.slug.clone());
                    if holders.get(&was) == Some(&Holder::Article(*id)) {
                        holders.remove(&was);
                    }
                }
            }
            Remote::Gone => holders.retain(|_, holder| *holder != Holder::Article(*id)),
            Remote::NotVisible(_) | Remote::Unknown(_) => {}
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
fn frees(action: &Action) -> Option<Holder> {
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
fn waits_for(action: &Action, holders: &BTreeMap<Address, Holder>) -> Option<Holder> {
    let holder = *holders.get(&takes(action)?)?;
    (about(action) != Some(holder)).then_some(holder)
}

/// Holds what wants an address that nobody leaves, or that another one comes to first. Tells whether it did.
fn wait_for_addresses(plan: &mut Plan, holders: &BTreeMap<Address, Holder>) -> bool {
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
        let holder = waits_for(action, holders).filter(|holder| !leaving.contains(holder));
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

/// Orders what changes the service by who waits for whom, and opens circles.
fn by_address(mut actions: Vec<Action>, holders: &BTreeMap<Address, Holder>) -> Vec<Action> {
    let freeing: BTreeMap<Holder, usize> = actions
        .iter()
        .enumerate()
        .filter(|(_, action)| action.held.is_none())
        .filter_map(|(index, action)| Some((frees(action)?, index)))
        .collect();
    let before: Vec<Option<usize>> = actions
        .iter()
        .map(|action| waits_for(action, holders).and_then(|holder| freeing.get(&holder).copied()))
        .collect();
    let mut order = Vec::with_capacity(actions.len());
    let mut parked = BTreeMap::new();
    let mut placed = vec![false; actions.len()];
    for start in 0..actions.len() {
        let mut chain = Vec::new();
        let mut next = Some(start);
        while let Some(index) = next.filter(|index| !placed[*index]) {
            if let Some(position) = chain.iter().position(|seen| *seen == index) {
                // A circle: its first member steps aside, then the one that waited for it may go.
                let aside = chain[position];
                parked.insert(aside, order.len());
                order.push(None);
                break;
            }
            chain.push(index);
            next = before[index];
        }
        for index in chain.into_iter().rev() {
            placed[index] = true;
            order.push(Some(index));
        }
    }
    let steps: BTreeMap<usize, Action> = parked
        .iter()
        .filter_map(|(aside, slot)| Some((*slot, step_aside(&mut actions[*aside])?)))
        .collect();
    let mut actions: Vec<Option<Action>> = actions.into_iter().map(Some).collect();
    order
        .into_iter()
        .enumerate()
        .filter_map(|(slot, index)| match index {
            Some(index) => actions[index].take(),
            None => steps.get(&slot).cloned(),
        })
        .collect()
}

/// A first step that only frees the slug of an action, which then starts from there.
fn step_aside(action: &mut Action) -> Option<Action> {
    let note = Some("for a moment, so that two addresses can be swapped".to_owned());
    let fields = vec![Field::Slug];
    match &mut action.step {
        Step::Settle(settle) => {
            // The slug that steps aside comes back with the rest, also where only the category changes.
            if !settle.send.contains(&Field::Slug) {
                settle.send.push(Field::Slug);
                settle.send.sort_unstable();
            }
            let step = Step::ParkSlug {
                id: settle.id,
                slug: temporary(&settle.seen.version.slug, settle.id.uuid()),
            };
            Some(Action {
                kind: Kind::Move,
                side: Side::Remote,
                fields,
                note,
                step,
                ..action.clone()
            })
        }
        Step::SettleCategory(settle) => {
            let slug = temporary(&settle.seen.slug, settle.id.uuid());
            let mut aside = SettleCategory {
                file: settle.unsent.clone(),
                write: false,
                send: vec![Field::Slug],
                ..(**settle).clone()
            };
            aside.file.slug.clone_from(&slug);
            settle.seen.slug = slug;
            Some(Action {
                kind: Kind::UpdateCategory,
                side: Side::Remote,
                fields,
                note,
                step: Step::SettleCategory(Box::new(aside)),
                ..action.clone()
            })
        }
        Step::CreateArticle { .. }
        | Step::CreateCategory { .. }
        | Step::ParkSlug { .. }
        | Step::DeleteArticle { .. }
        | Step::RemoveFile { .. }
        | Step::Forget { .. }
        | Step::Conflict(_)
        | Step::Wait => None,
    }
}

/// A slug that nobody else has.
fn temporary(slug: &str, id: Uuid) -> String {
    let mark = Digest::of_parts(&[id.as_bytes()]).to_string();
    let stem: String = slug.chars().take(200).collect();
    format!("{stem}-{}", &mark[..8])
}
