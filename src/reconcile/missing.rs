//! Articles that are absent or invisible on one side: the article is deleted on the other side too, restored, or held.

use super::Planner;
use super::articles::{undecided, untouched, waiting};
use super::conflict::CHANGED_SINCE_SHOWN;
use super::creation::{create_remote, new_file_for};
use super::plan::{Action, Conflict, HoldRule, Kind, Outcome, Step};
use super::snapshot::{Base, Keep, LocalFile, Remote, Seen};
use crate::model::base::{ArticleRow, ConflictRow, Visibility};
use crate::model::path::quoted;
use crate::model::{ArticleId, Place, Side, Texts};

/// The file is gone and the article is present: the article is deleted, too, unless somebody edited it.
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
    let decision = world.policy.resolve.get(&id);
    let keep = decision.map(|decision| decision.keep.clone());
    let wished = world.choice(keep) == Some(Keep::Remote);
    if let Some(conflict) = conflict.filter(|row| !wished && !world.settled_by_hand(row, None)) {
        // There is no file, so no local version to keep, and the message says so.
        let place = place_in_conflict(world.base, conflict);
        return planner.add(undecided(id, place, removed_in_conflict(place)));
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
        return planner.add(action);
    }
    let settle = match new_file_for(planner, id, Some(&row.place), seen) {
        Ok(settle) => settle,
        Err(outcome) => return outcome,
    };
    let mut action = Action::settle(Kind::Restore, Side::Local, settle);
    let note = if published || seen.version != row.remote {
        "removed here and edited on the service: the edit wins"
    } else {
        "its file was missing, but nobody removed it"
    };
    action.note = Some(note.to_owned());
    planner.add(action)
}

pub(super) fn removed_not_visible(
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
    planner.add(waiting(kind, side, id, &row.place, rule, reason))
}

pub(super) fn forget(planner: &mut Planner<'_>, id: ArticleId, row: &ArticleRow) -> Outcome {
    let action = Action::new(
        Kind::Forget,
        Side::Both,
        Some(id),
        &row.place,
        Step::Forget { id },
    );
    planner.add(action)
}

/// Returns the last place of a file in conflict. A later rename of its folder does not move a missing file.
pub(crate) fn place_in_conflict<'b>(base: &'b Base, conflict: &'b ConflictRow) -> &'b Place {
    let category = base.categories.get(&conflict.local.category);
    let folder = category.and_then(|row| row.folder.as_ref());
    let renamed = folder.is_some_and(|folder| *folder != conflict.place.folder);
    let row = base.articles.get(&conflict.id).filter(|_| renamed);
    row.map_or(&conflict.place, |row| &row.place)
}

/// Returns the reason for a file that was removed during its conflict: both versions are still available.
pub(crate) fn removed_in_conflict(place: &Place) -> String {
    let path = place.to_string();
    let path = quoted(&path);
    format!(
        "its file was removed while it was in conflict; `kbsync restore {path}` brings the file back, \
         `kbsync resolve {path} --keep remote` takes the service's version"
    )
}

/// The article is gone for certain; its file is present.
pub(super) fn gone(
    planner: &mut Planner<'_>,
    id: ArticleId,
    row: Option<&ArticleRow>,
    file: &LocalFile,
) -> Outcome {
    let world = planner.world;
    let unedited = row.is_some_and(|row| untouched(row, file));
    let wish = world.wish(id, &file.version, None);
    let decided_too_late = wish.is_none() && world.policy.resolve.contains_key(&id);
    // Without a base, nothing is deleted and nothing is created anew, unless a person decides so. A person's decision
    // about a named file applies, even if the file was edited.
    let keep = match (wish, row) {
        (None, Some(_)) if unedited => Some(Keep::Remote),
        (None, Some(_)) => world.choice(None),
        (wish, _) => wish,
    };
    match keep {
        Some(Keep::Remote) => {
            if !world.policy.direction.pulls() {
                return Outcome::Excluded;
            }
            let place = planner.placed(&file.place);
            planner.names.free(&place);
            planner.add(Action::remove_file(id, place, file.version.clone()))
        }
        Some(Keep::Local | Keep::Both | Keep::Parts(_)) => create_remote(planner, file, Some(id)),
        None => {
            let reason = if row.is_some() {
                "the article was deleted on the service, and the file was edited"
            } else {
                "the service has no article with its id: it was deleted there, or the file comes from elsewhere"
            };
            let place = planner.placed(&file.place);
            let ways = ways_without_article(&place.to_string(), row.is_some());
            let prefix = if decided_too_late {
                CHANGED_SINCE_SHOWN
            } else {
                ""
            };
            let mut action = undecided(id, &place, format!("{prefix}{reason}; {ways}"));
            let standing = world.base.conflicts.get(&id);
            action.step = Step::Conflict(Box::new(Conflict {
                id,
                place,
                local: file.version.clone(),
                seen: None,
                // An older copy stays until the conflict is settled.
                copy: standing.and_then(|row| row.copy.clone()),
                needs_copy: decided_too_late || standing.is_none_or(|row| row.remote.is_some()),
                reason: reason.to_owned(),
            }));
            planner.add(action)
        }
    }
}

/// Returns the ways to settle a file without an article. `was_here`: the article was on both sides once, so the state
/// knows the file even without its `id:` line.
pub(crate) fn ways_without_article(path: &str, was_here: bool) -> String {
    let path = quoted(path);
    let ways = format!(
        "`kbsync resolve {path} --keep local` creates it anew, `--keep remote` removes the file"
    );
    if was_here {
        ways
    } else {
        format!("{ways}; or {NEW_ONE}")
    }
}

/// The article left the listing for an unknown reason: its file stays, and an edit of the file is not sent.
pub(super) fn vanished(
    planner: &mut Planner<'_>,
    id: ArticleId,
    row: &ArticleRow,
    file: &LocalFile,
    why: &str,
) -> Outcome {
    // Many articles vanished at once, and this one was not probed yet: it counts as a deletion in doubt.
    let waits = row.visibility == Visibility::Published;
    if !untouched(row, file) {
        let rule = if waits {
            HoldRule::Doubt
        } else {
            HoldRule::Person
        };
        return unseen(planner, id, row, file, why, rule);
    }
    if !planner.world.policy.direction.pulls() {
        return Outcome::Unknown;
    }
    let place = planner.placed(&file.place);
    if waits {
        let mut action = Action::remove_file(id, place, file.version.clone());
        action.hold(HoldRule::MassDeletion, why);
        return planner.add(action);
    }
    let (kind, side, rule) = (Kind::Delete, Side::Local, HoldRule::Person);
    let reason = format!(
        "the article left the listing, and nothing says whether it is gone ({why}); the file stays until it is published \
         again, or a probe (`probe: true`) shows that it is deleted"
    );
    planner.add(waiting(kind, side, id, &place, rule, reason))
}

/// The article cannot be read: an edit is held, because it would overwrite a version that nobody has seen.
pub(super) fn unseen(
    planner: &mut Planner<'_>,
    id: ArticleId,
    row: &ArticleRow,
    file: &LocalFile,
    why: &str,
    rule: HoldRule,
) -> Outcome {
    let fields = file.version.differing(&row.local);
    if fields.is_empty() && file.flags == row.file_flags {
        return Outcome::Unknown;
    }
    if !planner.world.policy.direction.pushes() {
        return Outcome::Excluded;
    }
    let reason = format!("the article's present version cannot be read ({why})");
    let place = planner.placed(&file.place);
    let mut action = waiting(Kind::Update, Side::Remote, id, &place, rule, reason);
    action.fields = fields;
    planner.add(action)
}

/// A file with an id that neither the state nor the service knows for certain, according to the service's answer.
pub(super) fn unknown_article_id(
    planner: &mut Planner<'_>,
    id: ArticleId,
    file: &LocalFile,
    answer: &Remote,
) -> Outcome {
    let place = planner.placed(&file.place);
    let reason = match answer {
        Remote::Unknown(why) if !planner.world.remote.unreadable.contains(&id) => {
            let (kind, side, rule) = (Kind::Conflict, Side::Both, HoldRule::Doubt);
            let reason = format!(
                "it has the id of an article that was not read in this sync ({why}); if this goes on, look for that \
                 article in the dashboard, and only if it is not there, {NEW_ONE}"
            );
            return planner.add(waiting(kind, side, id, &place, rule, reason));
        }
        Remote::NotVisible(why) | Remote::Unknown(why) => format!(
            "it has the id of an article that cannot be read ({why}); publish that article, or {NEW_ONE}"
        ),
        Remote::Foreign | Remote::Gone | Remote::Present(_) => format!(
            "the file has the id of an article of another workspace; move it to that workspace's folder, or {NEW_ONE} here"
        ),
    };
    planner.add(undecided(id, &place, reason))
}

const NEW_ONE: &str = "remove the `id:` line to create a new article";
