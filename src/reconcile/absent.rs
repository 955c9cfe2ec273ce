//! The file is not there: the article goes too, comes back, or waits.

use super::articles::waiting;
use super::creation::{arrive, homeless};
use super::plan::{Action, HoldRule, Kind, Outcome, Step};
use super::planner::Planner;
use super::snapshot::{Base, Keep, Seen};
use crate::model::base::{ArticleRow, ConflictRow, Visibility};
use crate::model::path::quoted;
use crate::model::{ArticleId, Place, Side};

/// The file is gone and the article is there: it goes too, unless somebody edited it.
pub(super) fn removed(
    planner: &mut Planner<'_>,
    id: ArticleId,
    row: &ArticleRow,
    seen: &Seen,
) -> Outcome {
    let world = planner.world;
    let published = row.visibility == Visibility::Unpublished
        && seen.visibility == Visibility::Published
        && row.written.as_ref() != Some(&seen.revision);
    let conflict = world.base.conflicts.get(&id);
    let edited = seen.version != row.remote || published || conflict.is_some();
    let wished = world.choice(world.policy.resolve.get(&id).cloned()) == Some(Keep::Remote);
    if let Some(conflict) = conflict.filter(|row| !wished && !world.settled_by_hand(row, None)) {
        // Without a file there is no local version to keep, and the message says so.
        let place = place_in_conflict(world.base, conflict);
        let (kind, side, rule) = (Kind::Conflict, Side::Both, HoldRule::Person);
        let reason = removed_in_conflict(place);
        return planner.push(waiting(kind, side, id, place, rule, reason));
    }
    if !edited {
        if !world.policy.direction.pushes() {
            return Outcome::Excluded;
        }
        let action = Action::new(
            Kind::Delete,
            Side::Remote,
            Some(id),
            &row.place,
            Step::DeleteArticle {
                id,
                place: row.place.clone(),
                seen: Box::new(seen.clone()),
            },
        );
        return planner.push(action);
    }
    if !world.policy.direction.pulls() {
        return Outcome::Excluded;
    }
    let Some(folder) = planner.folder_for(seen.version.category) else {
        return homeless(planner, id, Some(&row.place), seen);
    };
    if world.local.unreadable.contains(&folder) {
        return Outcome::Unknown;
    }
    let to = planner.names.give_place(&folder, &seen.version.slug, id);
    let mut settle = arrive(id, to, seen);
    settle.settles = conflict.is_some();
    let mut action = Action::settle(Kind::Restore, Side::Local, settle);
    let note = if published || seen.version != row.remote {
        "removed here and edited on the service: the edit wins"
    } else {
        "its file was not there, and nobody removed it"
    };
    action.note = Some(note.to_owned());
    planner.push(action)
}

pub(super) fn removed_unreadable(
    planner: &mut Planner<'_>,
    id: ArticleId,
    row: &ArticleRow,
    why: &str,
) -> Outcome {
    if !planner.world.policy.direction.pushes() {
        return Outcome::Excluded;
    }
    let (kind, side, rule) = (Kind::Delete, Side::Remote, HoldRule::Person);
    let reason = format!(
        "its file was removed, but the article cannot be read ({why}); delete it in the dashboard, or put the file back"
    );
    planner.push(waiting(kind, side, id, &row.place, rule, reason))
}

pub(super) fn forget(planner: &mut Planner<'_>, id: ArticleId, row: &ArticleRow) -> Outcome {
    let action = Action::new(
        Kind::Forget,
        Side::Both,
        Some(id),
        &row.place,
        Step::Forget { id },
    );
    planner.push(action)
}

/// Returns the last place of a file in conflict: a folder that was renamed since does not move a missing file.
pub(crate) fn place_in_conflict<'b>(base: &'b Base, conflict: &'b ConflictRow) -> &'b Place {
    let category = base.categories.get(&conflict.local.category);
    let folder = category.and_then(|row| row.folder.as_ref());
    let renamed = folder.is_some_and(|folder| *folder != conflict.place.folder);
    let row = base.articles.get(&conflict.id).filter(|_| renamed);
    row.map_or(&conflict.place, |row| &row.place)
}

/// Returns the reason for a file that was removed while it was in conflict: both versions are still available.
pub(crate) fn removed_in_conflict(place: &Place) -> String {
    let path = place.to_string();
    let path = quoted(&path);
    format!(
        "its file was removed while it was in conflict; `kbsync restore {path}` brings the file back, \
         `kbsync resolve {path} --keep remote` takes the service's version"
    )
}
