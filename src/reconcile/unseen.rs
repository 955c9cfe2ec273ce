//! The file is there and the article is not, or cannot be seen.

use super::articles::{untouched, waiting};
use super::conflict::OUTRUN;
use super::creation::create_remote;
use super::plan::{Action, Conflict, HoldRule, Kind, Outcome, Step};
use super::planner::Planner;
use super::snapshot::{Keep, LocalFile};
use crate::model::base::{ArticleRow, Visibility};
use crate::model::path::quoted;
use crate::model::{ArticleId, Side};

/// Why nothing is learned of an article that is another workspace's.
pub(crate) const ANOTHERS: &str = "it belongs to another workspace";

/// The article is gone, confirmed; its file is there.
pub(super) fn gone(
    planner: &mut Planner<'_>,
    id: ArticleId,
    row: Option<&ArticleRow>,
    file: &LocalFile,
) -> Outcome {
    let world = planner.world;
    let unedited = row.is_some_and(|row| untouched(row, file));
    let wish = world.wish(id, &file.version, None);
    let outrun = wish.is_none() && world.policy.resolve.contains_key(&id);
    // Without a base nothing is deleted, and nothing is posted anew, unless a person says so. A person who asks for the
    // file by name gets it, edited or not.
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
            planner.names.leave(&place);
            planner.push(Action::remove_file(id, place, file.version.clone()))
        }
        Some(Keep::Local | Keep::Both | Keep::Parts(_)) => create_remote(planner, file, Some(id)),
        None => {
            let reason = if row.is_some() {
                "the article was deleted on the service, and the file was edited"
            } else {
                "the service has no article with its id: it was deleted there, or the file comes from elsewhere"
            };
            let ways = ways_without_article(&file.place.to_string(), row.is_some());
            let prefix = if outrun { OUTRUN } else { "" };
            let told = format!("{prefix}{reason}; {ways}");
            let (kind, side, rule) = (Kind::Conflict, Side::Both, HoldRule::Person);
            let mut action = waiting(kind, side, id, &file.place, rule, told);
            let standing = world.base.conflicts.get(&id);
            action.step = Step::Conflict(Box::new(Conflict {
                id,
                place: planner.placed(&file.place),
                local: file.version.clone(),
                flags: file.flags,
                seen: None,
                // A copy of before stays until this is settled.
                copy: standing.and_then(|row| row.copy.clone()),
                fresh: outrun || standing.is_none_or(|row| row.remote.is_some()),
                reason: reason.to_owned(),
            }));
            planner.push(action)
        }
    }
}

/// How a file without an article can be settled. `was_here`: its article was on both sides once, and the state knows the
/// file without its `id:` line as well.
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

/// The article left the listing, and nothing says why: neither its file nor an edit of it goes anywhere.
pub(super) fn vanished(
    planner: &mut Planner<'_>,
    id: ArticleId,
    row: &ArticleRow,
    file: &LocalFile,
    why: &str,
) -> Outcome {
    // Many vanished at once, and this one was not asked for yet: it counts as a deletion in doubt.
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
        return planner.push(action);
    }
    let (kind, side, rule) = (Kind::Delete, Side::Local, HoldRule::Person);
    let reason = format!(
        "the article left the listing, and nothing says whether it is gone ({why}); the file stays until it is published \
         again or known to be deleted"
    );
    planner.push(waiting(kind, side, id, &place, rule, reason))
}

/// The article cannot be seen: an edit waits, since it would overwrite what nobody has seen.
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
    let mut action = waiting(Kind::Update, Side::Remote, id, &file.place, rule, reason);
    action.fields = fields;
    planner.push(action)
}

/// A file with an id of which neither the state nor the service knows anything certain.
pub(super) fn unknown_article_id(
    planner: &mut Planner<'_>,
    id: ArticleId,
    file: &LocalFile,
    why: &str,
) -> Outcome {
    let reason = if why == ANOTHERS {
        format!(
            "the file has the id of an article of another workspace; move it to that workspace's folder, or {NEW_ONE} here"
        )
    } else {
        format!(
            "it has the id of an article that cannot be read ({why}); publish that article, or {NEW_ONE}"
        )
    };
    let (kind, side, rule) = (Kind::Conflict, Side::Both, HoldRule::Person);
    planner.push(waiting(kind, side, id, &file.place, rule, reason))
}

const NEW_ONE: &str = "remove the `id:` line to create a new article";
