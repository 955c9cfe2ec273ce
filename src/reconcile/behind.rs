//! Holds the files that git reset to the committed version, or may have reset.
//!
//! The engine asks git and finds these files. A held file is neither sent nor overwritten, and makes no conflict.
//! The hold ends when the file or the commit changes.

use super::circle::circle;
use super::guard::{Facts, MAX_ROLLBACKS};
use super::plan::{Action, HoldRule, Plan, Step};
use crate::model::Field;
use crate::model::path::{CATEGORY_FILE, quoted};
use std::collections::BTreeMap;

/// A file with the committed content, whose newer content was not committed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Behind {
    /// Why git gave no answer; `None`: git answered.
    pub doubt: Option<String>,
    /// Whether the history knows the file's version as an older one.
    pub is_older: bool,
    /// Whether the article is in conflict: `approve` does not apply.
    pub in_conflict: bool,
    /// The present place of the article or category whose old file git brought back; `None`: the action creates no
    /// duplicate.
    pub duplicate_of: Option<String>,
    /// The path at the last sync, if that is another one.
    pub moved_from: Option<String>,
    /// Whether the file was renamed to a path that no commit has: a person did that, and git the rest.
    pub is_renamed: bool,
}

/// Holds every action for a file that is behind, except approved actions.
pub(super) fn hold_behind(plan: &mut Plan, facts: &Facts) {
    if facts.git.behind.is_empty() {
        return;
    }
    // Many files get one reason with PATH in it, so that the daemon logs one line.
    let many = facts.git.behind.len() > MAX_ROLLBACKS;
    let moves = moves(plan, facts);
    for action in &mut plan.actions {
        let fingerprint = action.fingerprint();
        let Some(behind) = facts.git.behind.get(&fingerprint) else {
            continue;
        };
        if facts.approved.contains(&fingerprint) {
            continue;
        }
        let circle = behind
            .moved_from
            .as_ref()
            .and_then(|_| circle(&action.path, &moves));
        let (rule, reason) = match circle {
            // The service has no exchange: an approval would change nothing.
            Some(paths) if !behind.in_conflict => (HoldRule::Person, exchanged(paths)),
            Some(_) | None => (HoldRule::Behind, reason(action, behind, many)),
        };
        if let Step::Conflict(conflict) = &mut action.step {
            // A conflict that was shown before stays a conflict.
            if !conflict.fresh {
                continue;
            }
            // The planned copy is not written.
            conflict.fresh = false;
            action.held = None;
        }
        action.hold(rule, reason);
    }
}

/// The files and folders that are moved back: where each is, and where it was.
fn moves(plan: &Plan, facts: &Facts) -> BTreeMap<String, String> {
    let moved = plan.actions.iter().filter_map(|action| {
        let behind = facts.git.behind.get(&action.fingerprint())?;
        Some((action.path.clone(), behind.moved_from.clone()?))
    });
    moved.collect()
}

/// The reason for moves back that exchange names.
fn exchanged(mut paths: Vec<String>) -> String {
    paths.sort_unstable();
    let paths: Vec<_> = paths.iter().map(|path| quoted(path)).collect();
    format!(
        "{} have each other's names again, the committed ones, as after `git checkout`, and the service cannot exchange them: \
         either rename all of them back, or rename one to a third name, run `kbsync sync`, rename it to the name that it is \
         to have, and run `kbsync approve`",
        paths.join(" and ")
    )
}

/// The reason for a hold. It names the remedy that always works first.
fn reason(action: &Action, behind: &Behind, many: bool) -> String {
    if let Some(elsewhere) = &behind.duplicate_of {
        let (file, article) = if matches!(action.step, Step::CreateCategory { .. }) {
            ("folder", "category")
        } else {
            ("file", "article")
        };
        return format!(
            "git brought this {file} back from a commit (git checkout, git stash?), but its {article} is now at {}: remove \
             this {file} and commit the move; `kbsync approve` creates a second {article} from this {file} instead",
            quoted(elsewhere)
        );
    }
    let is_category = matches!(action.step, Step::SettleCategory(_));
    let (name, path) = if is_category {
        let path = format!("{}/{CATEGORY_FILE}", action.path);
        (format!("`{CATEGORY_FILE}`"), path)
    } else {
        ("the file".to_owned(), action.path.clone())
    };
    let path = if many { "PATH".into() } else { quoted(&path) };
    if !behind.in_conflict
        && !behind.is_renamed
        && let Some(sent) = sent_address(&action.step)
    {
        return moves_back(action, behind, sent, many);
    }
    // A new name is a new slug, which the history does not know with the old text.
    let is_older = behind.is_older || behind.is_renamed;
    let what = match &behind.doubt {
        None if is_older => format!(
            "{name} went back to the committed version (git stash, git checkout?), which is older than the service's"
        ),
        None => format!(
            "{name} is as it was committed, and no commit that kbsync found has the newest version: kbsync cannot tell \
             whether git put it there"
        ),
        Some(why) => {
            format!("{name} went back to an older version, and git may have done it ({why})")
        }
    };
    let ways = if behind.in_conflict {
        format!(
            "the conflict stays, and the file is not sent: `git stash pop`, then resolve again; or edit the file; \
             or `kbsync resolve {path} --keep remote`"
        )
    } else if matches!(action.step, Step::Conflict(_)) {
        // No copy was written, so `resolve` does not know the conflict yet.
        "the service has another version by now, so nothing is sent: bring the newer file back (`git stash pop`, `git \
         pull`); or edit the file, and settle the conflict with `kbsync resolve`"
            .to_owned()
    } else if behind.doubt.is_none() && !is_older {
        format!(
            "`kbsync approve` sends it, `kbsync restore {path}` brings the service's version back"
        )
    } else {
        format!(
            "`kbsync restore {path}` brings the newer version back; a version in a stash, or one that a pull brings, comes \
             back by `git stash pop` or `git pull`; `kbsync approve` sends the old version"
        )
    };
    format!("{what}; {ways}")
}

/// The fields that an action sends, and the slug on the service, if the action changes the public address.
fn sent_address(step: &Step) -> Option<(&[Field], &str)> {
    let (sent, slug) = match step {
        Step::Settle(settle) => (&settle.send, &settle.seen.version.slug),
        Step::SettleCategory(settle) => (&settle.send, &settle.seen.slug),
        Step::CreateCategory { .. }
        | Step::CreateArticle { .. }
        | Step::DeleteArticle { .. }
        | Step::RemoveFile { .. }
        | Step::Forget { .. }
        | Step::Conflict(_)
        | Step::Wait => return None,
    };
    let is_moved = sent.contains(&Field::Slug) || sent.contains(&Field::Category);
    is_moved.then_some((sent, slug))
}

/// The reason of a held move. `kbsync restore` brings texts back, and neither names nor slugs.
fn moves_back(
    action: &Action,
    behind: &Behind,
    (sent, slug): (&[Field], &str),
    many: bool,
) -> String {
    let is_category = matches!(action.step, Step::SettleCategory(_));
    let (subject, file, yaml) = if is_category {
        ("category", "folder", format!("/{CATEGORY_FILE}"))
    } else {
        ("article", "file", String::new())
    };
    let cause = match &behind.doubt {
        None => "as `git checkout` and `git stash` do".to_owned(),
        Some(why) => format!("and git may have done it ({why})"),
    };
    let Some(was) = &behind.moved_from else {
        return format!(
            "this moves the {subject} back to the committed slug, {cause}: `kbsync approve` moves the {subject}; or write \
             `slug: {slug}` into the file again"
        );
    };
    let (route, name, file_of_text) = if many {
        let name = "the name that `kbsync log PATH` shows".into();
        ("to its committed name".to_owned(), name, "PATH".into())
    } else {
        let (name, path) = (quoted(was), quoted(&action.path));
        let route = format!("from {name} to {path}, the committed name");
        (route, name, format!("{was}{yaml}"))
    };
    let has_text = sent
        .iter()
        .any(|field| ![Field::Slug, Field::Category].contains(field));
    let text = if has_text {
        let file_of_text = quoted(&file_of_text);
        format!(", and `kbsync restore {file_of_text}` then brings the newer text back")
    } else {
        String::new()
    };
    format!(
        "this moves the {subject} back {route}, {cause}: `kbsync approve` moves the {subject}; or rename the {file} to \
         {name} again{text}"
    )
}
