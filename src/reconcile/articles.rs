//! The decision table, article by article.

use super::World;
use super::absent::{forget, removed, removed_unreadable};
use super::conflict::meet;
use super::creation::{create_local, plan_fresh};
use super::flags;
use super::names::free_names;
use super::plan::{Action, HoldRule, Key, Kind, Outcome, Step};
use super::planner::{Case, Planner};
use super::snapshot::{LocalFile, Remote, Seen};
use super::unseen::{gone, unknown_article_id, unseen, vanished};
use crate::model::base::ArticleRow;
use crate::model::{ArticleId, Place, Revision, Side, Version};
use std::collections::BTreeSet;

/// The state of an article's file.
enum Local<'a> {
    File(&'a LocalFile),
    Absent,
    Unknown,
}

/// Decides on every article that has an id, then on the new files.
pub(super) fn plan_articles(planner: &mut Planner<'_>, frees_names: bool) {
    let world = planner.world;
    let (base, paired, remote) = (world.base, world.paired, world.remote);
    let ids: BTreeSet<ArticleId> = base
        .articles
        .keys()
        .chain(paired.files.keys())
        .chain(paired.unknown.keys())
        .chain(remote.articles.keys())
        .copied()
        .collect();
    if frees_names {
        free_names(planner, &ids);
    }
    for &id in &ids {
        let outcome = article(planner, id);
        planner.plan.outcomes.insert(Key::Article(id), outcome);
    }
    for file in &paired.fresh {
        let outcome = plan_fresh(planner, file);
        planner
            .plan
            .outcomes
            .insert(Key::File(file.place.clone()), outcome);
    }
}

fn article(planner: &mut Planner<'_>, id: ArticleId) -> Outcome {
    let world = planner.world;
    let (base, paired) = (world.base, world.paired);
    let row = base.articles.get(&id);
    let local = match (paired.unknown.get(&id), paired.files.get(&id)) {
        (Some(_), _) => Local::Unknown,
        (None, Some(file)) => Local::File(file),
        (None, None) => Local::Absent,
    };
    if let Local::File(LocalFile { place, .. }) = local {
        let was = row.is_some_and(|row| world.policy.covers(&row.place));
        if !was && !world.policy.covers(place) {
            return Outcome::Excluded;
        }
    } else if row.is_some_and(|row| !world.policy.covers(&row.place)) {
        return Outcome::Excluded;
    }
    let unlisted = Remote::Unknown("it was not listed".to_owned());
    let entry = entry_of(world, id).unwrap_or(&unlisted);
    match (row, local, entry) {
        (None, Local::Absent, Remote::Present(seen)) => create_local(planner, id, seen),
        (Some(row), Local::File(file), Remote::Present(seen)) => {
            let case = Case {
                id,
                row: Some(row),
                file,
                seen,
            };
            if agrees(planner, row, file, seen) {
                debug_assert_eq!(meet(planner, case), Outcome::Quiet);
                return Outcome::Quiet;
            }
            let seen = &fresh_or_base(row, seen);
            meet(planner, Case { seen, ..case })
        }
        (Some(row), Local::File(file), Remote::Gone) => gone(planner, id, Some(row), file),
        (Some(row), Local::File(file), Remote::NotVisible(why)) => {
            vanished(planner, id, row, file, why)
        }
        (Some(row), Local::File(file), Remote::Unknown(why)) => {
            let rule = if world.remote.unreadable.contains(&id) {
                HoldRule::Person
            } else {
                HoldRule::Doubt
            };
            unseen(planner, id, row, file, why, rule)
        }
        (Some(row), Local::Absent, Remote::Present(seen)) => {
            let seen = fresh_or_base(row, seen);
            removed(planner, id, row, &seen)
        }
        (Some(row), Local::Absent, Remote::Gone) => forget(planner, id, row),
        (Some(row), Local::Absent, Remote::NotVisible(why)) => {
            removed_unreadable(planner, id, row, why)
        }
        (Some(_), Local::Absent, Remote::Unknown(_)) => {
            planner.plan.removed_unread += usize::from(world.policy.direction.pushes());
            Outcome::Unknown
        }
        (_, Local::Unknown, _) | (None, Local::Absent, _) => Outcome::Unknown,
        (None, Local::File(file), Remote::Present(seen)) => meet(
            planner,
            Case {
                id,
                row: None,
                file,
                seen,
            },
        ),
        (None, Local::File(file), Remote::Gone) => gone(planner, id, None, file),
        (None, Local::File(file), Remote::NotVisible(why) | Remote::Unknown(why)) => {
            unknown_article_id(planner, id, file, why)
        }
    }
}

/// Returns whether both sides are as recorded and nothing waits, without a comparison by fields: nearly every article
/// in nearly every cycle.
fn agrees(planner: &Planner<'_>, row: &ArticleRow, file: &LocalFile, seen: &Seen) -> bool {
    let world = planner.world;
    untouched(row, file)
        && row.remote == seen.version
        && row.revision == seen.revision
        && row.visibility == seen.visibility
        && row.place == file.place
        && file.id == Some(row.id)
        && flags::shown(Some(row), seen, row.remote_flags) == row.remote_flags
        // The answer may be an old copy with the same content and other flags.
        && is_calm(row)
        && !planner.renamed.contains_key(&file.place.folder)
        && !world.base.conflicts.contains_key(&row.id)
        && !world.policy.resolve.contains_key(&row.id)
}

/// Returns the service's answer about an article.
fn entry_of(world: World<'_>, id: ArticleId) -> Option<&Remote> {
    world.remote.articles.get(&id)
}

pub(super) fn untouched(row: &ArticleRow, file: &LocalFile) -> bool {
    row.local == file.version && row.file_flags == file.flags
}

/// Returns whether nothing follows for an article when both sides are as the base says: what the base says of the
/// service cannot be an old copy of what we replaced.
pub(crate) fn is_calm(row: &ArticleRow) -> bool {
    !row.has_replaced(&row.remote, &row.revision)
}

/// Returns whether an answer is an old copy of what our own last write replaced: it says nothing of what a colleague
/// wrote since. Where that write left the very same behind, words and revision, nothing tells the two apart.
pub(crate) fn is_outdated(row: &ArticleRow, revision: &Revision, version: &Version) -> bool {
    let left = row.written.as_ref() == Some(revision) && row.remote == *version;
    row.has_replaced(version, revision) && !left
}

/// An old copy of what our own writes replaced counts as the version that we wrote.
fn fresh_or_base(row: &ArticleRow, seen: &Seen) -> Seen {
    if row.has_replaced(&seen.version, &seen.revision) {
        return Seen {
            version: row.remote.clone(),
            revision: row.revision.clone(),
            flags: row.remote_flags,
            visibility: row.visibility,
        };
    }
    seen.clone()
}

pub(super) fn wait(kind: Kind, id: ArticleId, place: &Place) -> Action {
    Action::new(kind, Side::Both, Some(id), place, Step::Wait)
}
