//! The decision table, article by article.

use super::World;
use super::conflict::meet;
use super::creation::{create_local, create_remote};
use super::missing::{
    forget, gone, removed, removed_not_visible, unknown_article_id, unseen, vanished,
};
use super::plan::{Action, HoldRule, Key, Kind, Outcome, Step};
use super::snapshot::{LocalFile, Remote, Seen};
use super::{Case, Planner};
use crate::model::base::ArticleRow;
use crate::model::{ArticleId, Place, Revision, Side, Version};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// Plans every article that has an id, then the new files. Articles that are gone come first, and articles without a
/// file last: names that are freed are available to the later ones.
pub(super) fn plan_articles(planner: &mut Planner<'_>) {
    let world = planner.world;
    let order = |id| {
        let file = world.paired.files.get(&id).map(|file| &file.place);
        let stays = entry_of(world, id) != Some(&Remote::Gone);
        (stays, file.is_none(), file, id)
    };
    let ids: BTreeSet<_> = world.articles().map(order).collect();
    for (.., id) in ids {
        let outcome = article(planner, id);
        planner.plan.outcomes.insert(Key::Article(id), outcome);
    }
    for file in &world.paired.new_files {
        let outcome = if world.policy.scope.covers(&file.place) {
            create_remote(planner, file, None)
        } else {
            Outcome::Excluded
        };
        let key = Key::File(file.place.clone());
        planner.plan.outcomes.insert(key, outcome);
    }
}

fn article(planner: &mut Planner<'_>, id: ArticleId) -> Outcome {
    let world = planner.world;
    let (base, paired) = (world.base, world.paired);
    let row = base.articles.get(&id);
    let file = paired.files.get(&id);
    if paired.unknown.contains_key(&id) {
        return Outcome::Unknown;
    }
    let places = [row.map(|row| &row.place), file.map(|file| &file.place)];
    let mut places = places.into_iter().flatten().peekable();
    if places.peek().is_some() && !places.any(|place| world.policy.scope.covers(place)) {
        return Outcome::Excluded;
    }
    let unlisted = Remote::Unknown("it was not listed".to_owned());
    match (entry_of(world, id).unwrap_or(&unlisted), row, file) {
        (Remote::Present(seen), row, Some(file)) => {
            let seen = &present_or_base(row, seen);
            meet(
                planner,
                Case {
                    id,
                    row,
                    file,
                    seen,
                },
            )
        }
        (Remote::Present(seen), Some(row), None) => {
            let seen = present_or_base(Some(row), seen);
            removed(planner, id, row, &seen)
        }
        (Remote::Present(seen), None, None) => create_local(planner, id, seen),
        (Remote::Gone, row, Some(file)) => gone(planner, id, row, file),
        (Remote::Gone, Some(row), None) => forget(planner, id, row),
        (Remote::NotVisible(why), Some(row), Some(file)) => vanished(planner, id, row, file, why),
        (Remote::NotVisible(why), Some(row), None) => removed_not_visible(planner, id, row, why),
        (Remote::Unknown(why), Some(row), Some(file)) => {
            let rule = if world.remote.unreadable.contains(&id) {
                HoldRule::Person
            } else {
                HoldRule::Doubt
            };
            unseen(planner, id, row, file, why, rule)
        }
        (Remote::Unknown(_), Some(_), None) => {
            planner.plan.removed_unreadable += usize::from(world.policy.direction.pushes());
            Outcome::Unknown
        }
        (answer @ (Remote::NotVisible(_) | Remote::Unknown(_)), None, Some(file))
        | (answer @ Remote::Foreign, _, Some(file)) => {
            unknown_article_id(planner, id, file, answer)
        }
        (Remote::Foreign, Some(_), None)
        | (
            Remote::Gone | Remote::NotVisible(_) | Remote::Unknown(_) | Remote::Foreign,
            None,
            None,
        ) => Outcome::Unknown,
    }
}

/// Returns the service's answer about an article.
fn entry_of(world: World<'_>, id: ArticleId) -> Option<&Remote> {
    world.remote.articles.get(&id)
}

pub(super) fn untouched(row: &ArticleRow, file: &LocalFile) -> bool {
    row.local == file.version && row.file_flags == file.flags
}

/// Returns whether an article needs nothing if both sides are as in the base: the base's version of the service is not
/// a stale read.
pub(crate) fn base_is_current(row: &ArticleRow) -> bool {
    !row.has_superseded(&row.remote, &row.revision)
}

/// Returns whether an answer is a stale read of a version that our own writes replaced: it shows nothing of a
/// colleague's later edits. If our last write restored exactly that version and revision, the two cannot be told apart,
/// and the answer counts as current.
pub(crate) fn is_outdated(row: &ArticleRow, version: &Version, revision: &Revision) -> bool {
    let left = row.written.as_ref() == Some(revision) && row.remote == *version;
    row.has_superseded(version, revision) && !left
}

/// Replaces a stale read of a superseded version by the version that we wrote.
fn present_or_base<'s>(row: Option<&ArticleRow>, seen: &'s Seen) -> Cow<'s, Seen> {
    match row {
        Some(row) if row.has_superseded(&seen.version, &seen.revision) => {
            Cow::Owned(Seen::recorded(row))
        }
        _ => Cow::Borrowed(seen),
    }
}

/// Makes the conflict of an article that only a person can settle.
pub(super) fn undecided(id: ArticleId, place: &Place, reason: impl Into<String>) -> Action {
    let (kind, side) = (Kind::Conflict, Side::Both);
    waiting(kind, side, id, place, HoldRule::Person, reason)
}

/// Makes an action that is only held and reported.
pub(super) fn waiting(
    kind: Kind,
    side: Side,
    id: ArticleId,
    place: &Place,
    rule: HoldRule,
    reason: impl Into<String>,
) -> Action {
    let mut action = Action::new(kind, side, Some(id), place, Step::Wait);
    action.hold(rule, reason);
    action
}
