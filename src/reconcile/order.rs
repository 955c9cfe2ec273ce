//! The order of a plan: categories, then what only touches the mirror, then what changes the service, and
//! deletions last, but for those whose slug somebody else waits for.
//!
//! A name in the mirror belongs to one file at a time: a removal that frees one comes first.
//! A slug belongs to one article of a category at a time, and to one category of the workspace. An action that takes
//! a slug which another one leaves in the same plan comes after it; a circle of articles is opened by a temporary slug;
//! an action that takes a slug which nobody leaves has to wait.

use super::addresses::{Holder, frees, holders, waits_for};
use super::aside::temporary;
use super::plan::{Action, Kind, Plan, Step};
use super::snapshot::{Base, RemoteSnapshot};
use super::waiting::wait;
use crate::model::{Field, Place, Side, path};
use std::collections::{BTreeMap, BTreeSet};

pub use super::addresses::{Address, leaves, takes};

/// Puts a guarded plan in order.
pub fn arrange(plan: &mut Plan, base: &Base, remote: &RemoteSnapshot) {
    let holders = holders(&plan.actions, base, remote);
    wait(plan, &holders);
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
    let from = settle.from.as_ref().filter(|_| settle.moves_file());
    from.map(name)
}

fn renames_folder(action: &Action) -> bool {
    matches!(&action.step, Step::SettleCategory(settle) if settle.from.is_some() && settle.from != settle.to)
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

/// A first step that only frees the slug of an article, whose own step then starts from there.
fn step_aside(action: &mut Action) -> Option<Action> {
    let makes_way_for = Some((action.key(), action.fingerprint()));
    let Step::Settle(settle) = &mut action.step else {
        return None;
    };
    // The slug that steps aside comes back with the rest, also where only the category changes.
    if !settle.send.contains(&Field::Slug) {
        settle.send.push(Field::Slug);
        settle.send.sort_unstable();
    }
    let step = Step::ParkSlug {
        id: settle.id,
        slug: temporary(&settle.seen.version.slug, settle.id.uuid()),
        seen: Box::new(settle.seen.clone()),
    };
    Some(Action {
        kind: Kind::Move,
        side: Side::Remote,
        fields: vec![Field::Slug],
        note: Some("for a moment, so that two addresses can be swapped".to_owned()),
        makes_way_for,
        step,
        ..action.clone()
    })
}
