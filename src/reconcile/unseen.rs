//! The file is there and the article is not, or cannot be seen.

use super::articles::{untouched, wait};
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
    // Without a base nothing is deleted, and nothing is posted anew, unless a person says so.
    let keep = if row.is_some() {
        world.choice(wish.clone())
    } else {
        wish.clone()
    };
    // A person who asks for the file by name gets it, edited or not.
    if matches!(wish, Some(Keep::Local | Keep::Both | Keep::Parts(_))) {
        return create_remote(planner, file, Some(id));
    }
    match (unedited, keep) {
        (true, _) | (false, Some(Keep::Remote)) => {
            if !world.policy.direction.pulls() {
                return Outcome::Excluded;
            }
            let place = planner.placed(&file.place);
            planner.push(Action::remove_file(id, place, file.version.clone()))
        }
        (false, Some(Keep::Local | Keep::Both | Keep::Parts(_))) => {
            create_remote(planner, file, Some(id))
        }
        (false, None) => {
            let mut action = wait(Kind::Conflict, id, &file.place);
            let (what, reason) = match row {
                Some(_) => (
                    "the article was deleted on the service, and the file was edited",
                    "deleted on the service, edited here",
                ),
                None => (
                    "the service has no article with its id: it was deleted there, or the file comes from elsewhere",
                    "no article has its id",
                ),
            };
            let ways = ways_without_article(&file.place.to_string(), row.is_some());
            let outrun = if outrun { OUTRUN } else { "" };
            action.hold(HoldRule::Person, format!("{outrun}{what}; {ways}"));
            let standing = world.base.conflicts.get(&id);
            action.step = Step::Conflict(Box::new(Conflict {
                id,
                place: planner.placed(&file.place),
                local: file.version.clone(),
                flags: file.flags,
                seen: None,
                // A copy of before stays until this is settled.
                copy: standing.and_then(|row| row.copy.clone()),
                fresh: !outrun.is_empty() || standing.is_none_or(|row| row.remote.is_some()),
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
    let mut action = Action::remove_file(id, planner.placed(&file.place), file.version.clone());
    if waits {
        action.hold(HoldRule::MassDeletion, why);
    } else {
        action.step = Step::Wait;
        action.hold(
            HoldRule::Person,
            format!(
                "the article left the listing, and nothing says whether it is gone ({why}); the file stays \
                 until it is published again or known to be deleted"
            ),
        );
    }
    planner.push(action)
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
    let mut action = wait(Kind::Update, id, &file.place);
    action.side = Side::Remote;
    action.fields = fields;
    action.hold(
        rule,
        format!("the article's present version cannot be read ({why})"),
    );
    planner.push(action)
}

/// A file with an id of which neither the state nor the service knows anything certain.
pub(super) fn unknown_article_id(
    planner: &mut Planner<'_>,
    id: ArticleId,
    file: &LocalFile,
    why: &str,
) -> Outcome {
    let mut action = wait(Kind::Conflict, id, &file.place);
    let reason = if why == ANOTHERS {
        format!(
            "the file has the id of an article of another workspace; move it to that workspace's folder, or {NEW_ONE} here"
        )
    } else {
        format!(
            "it has the id of an article that cannot be read ({why}); publish that article, or {NEW_ONE}"
        )
    };
    action.hold(HoldRule::Person, reason);
    planner.push(action)
}

const NEW_ONE: &str = "remove the `id:` line to create a new article";
