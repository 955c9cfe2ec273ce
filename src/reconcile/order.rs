//! The order of a plan: categories, then what only touches the mirror, then what changes the service, and
//! deletions last, but for those whose slug somebody else waits for.
//!
//! A name in the mirror belongs to one file at a time: a removal that frees one comes first.
//! A slug belongs to one article of a category at a time, and to one category of the workspace. An action that takes
//! a slug which another article leaves in the same plan comes after it. `needs` holds the actions whose slug stays taken.

use super::addresses::{Holder, frees, holders, waits_for};
use super::needs::wait;
use super::plan::{Action, Plan, Step};
use super::snapshot::{Base, RemoteSnapshot};
use crate::model::{Place, path};
use std::collections::{BTreeMap, BTreeSet};

pub use super::addresses::{Address, leaves, takes};

/// Puts a guarded plan in order.
pub fn arrange(plan: &mut Plan, base: &Base, remote: &RemoteSnapshot) {
    let holders = holders(&plan.actions, base, remote);
    wait(plan, &holders, base);
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
    plan.actions = by_address(actions, &holders);
    plan.problems.sort();
    plan.problems.dedup();
}

fn phase(action: &Action, wanted: &BTreeSet<Name>) -> u8 {
    match (&action.step, action.side) {
        (Step::CreateCategory { .. } | Step::SettleCategory(_), _) => 0,
        (Step::Forget { .. }, _) => 1,
        (Step::RemoveFile { place, .. }, _) if wanted.contains(&name(place)) => 1,
        (Step::Settle(settle), _) if !settle.sends() => 2,
        (Step::Conflict(_) | Step::Wait, _) => 3,
        (Step::CreateArticle { .. } | Step::Settle(_), _) => 4,
        (Step::DeleteArticle { .. }, _) => 5,
        (Step::RemoveFile { .. }, _) => 6,
    }
}

/// A name in a folder, folded: one file has it at a time.
pub(super) type Name = (String, String);

fn name(place: &Place) -> Name {
    (place.folder.clone(), path::fold(&place.file))
}

/// The name that an action takes in the mirror, if it takes one.
pub(super) fn takes_name(action: &Action) -> Option<Name> {
    let settle = action.as_settle()?;
    settle.moves_file().then(|| name(&settle.to))
}

/// The name that an action leaves in the mirror, if it leaves one.
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

/// Orders what changes the service by who waits for whom. No actions wait for each other: [`wait`] holds them.
fn by_address(actions: Vec<Action>, holders: &BTreeMap<Address, Holder>) -> Vec<Action> {
    let unheld = actions.iter().enumerate();
    let unheld = unheld.filter(|(_, action)| action.held.is_none());
    let freeing: BTreeMap<Holder, usize> = unheld
        .filter_map(|(index, action)| Some((frees(action)?, index)))
        .collect();
    let before = actions
        .iter()
        .map(|action| waits_for(action, holders).and_then(|holder| freeing.get(&holder).copied()));
    let before: Vec<Option<usize>> = before.collect();
    let mut actions: Vec<Option<Action>> = actions.into_iter().map(Some).collect();
    let mut ordered = Vec::with_capacity(actions.len());
    for start in 0..actions.len() {
        let mut chain = Vec::new();
        let mut next = Some(start);
        while let Some((index, action)) =
            next.and_then(|index| Some((index, actions[index].take()?)))
        {
            chain.push(action);
            next = before[index];
        }
        ordered.extend(chain.into_iter().rev());
    }
    ordered
}
