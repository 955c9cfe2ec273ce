//! Holds the files that git reset to the committed version, or may have reset.
//!
//! The engine asks git and finds these files. A held file is neither sent nor overwritten, and causes no conflict. The
//! hold ends when the file or the commit changes.

use super::guard::Facts;
use super::plan::{Action, HoldRule, Plan, Step};
use crate::model::Field;
use crate::model::path::{CATEGORY_FILE, quoted};

/// A file whose content equals the committed version, although a newer content was never committed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Behind {
    /// Why git could not be asked; `None`: git answered.
    pub doubt: Option<String>,
    /// Whether the article is in conflict: `approve` does not apply.
    pub in_conflict: bool,
    /// The present place of the article or category whose old file git brought back: the action would create a
    /// duplicate. `None`: it would not.
    pub duplicate_of: Option<String>,
    /// The path at the last sync, if it was another path.
    pub moved_from: Option<String>,
    /// Whether the file was renamed to a path that no commit has: a person renamed it, and git reset the content.
    pub is_renamed: bool,
}

/// Holds every action on a file that is behind, unless the action is approved.
pub(super) fn hold_behind(plan: &mut Plan, facts: &Facts) {
    if facts.git.behind.is_empty() {
        return;
    }
    for action in &mut plan.actions {
        let fingerprint = action.fingerprint();
        let Some(behind) = facts.git.behind.get(&fingerprint) else {
            continue;
        };
        if facts.approved.contains(&fingerprint) {
            continue;
        }
        let reason = reason(action, behind);
        if let Step::Conflict(conflict) = &mut action.step {
            // A conflict that was reported before stays a conflict.
            if !conflict.needs_copy {
                continue;
            }
            // The planned copy is not written.
            conflict.needs_copy = false;
            action.held = None;
        }
        action.hold(HoldRule::Behind, reason);
    }
}

/// Returns the reason for a hold. The reason names first the remedy that always works.
fn reason(action: &Action, behind: &Behind) -> String {
    let is_category = matches!(
        action.step,
        Step::CreateCategory { .. } | Step::SettleCategory(_)
    );
    let (subject, file) = if is_category {
        ("category", "folder")
    } else {
        ("article", "file")
    };
    if let Some(elsewhere) = &behind.duplicate_of {
        return format!(
            "git brought this {file} back from a commit (git checkout, git stash?), but its {subject} is now at {}: remove \
             this {file} and commit the move; `kbsync approve` creates a second {subject} from this {file} instead",
            quoted(elsewhere)
        );
    }
    let cause = match &behind.doubt {
        None => "as after `git checkout` or `git stash`".to_owned(),
        Some(why) => format!("and git may have done it ({why})"),
    };
    if behind.in_conflict || matches!(action.step, Step::Conflict(_)) {
        return format!(
            "the file may have gone back to the committed version, {cause}; the conflict stays, and nothing is sent: bring the newer \
             file back (`git stash pop`, `git pull`), or edit the file, and settle the conflict with `kbsync resolve`"
        );
    }
    if let Some(slug) = sent_address(action).filter(|_| !behind.is_renamed) {
        let (route, undo) = match &behind.moved_from {
            Some(was) => {
                let (was, path) = (quoted(was), quoted(&action.path));
                (
                    format!("from {was} to {path}, the committed name"),
                    format!("rename the {file} to {was} again"),
                )
            }
            None => (
                "to the committed slug".to_owned(),
                format!("write `slug: {slug}` into the file again"),
            ),
        };
        return format!(
            "this moves the {subject} back {route}, {cause}: `kbsync approve` moves the {subject}; or {undo}, and \
             `kbsync restore` then brings a newer text back"
        );
    }
    let (name, path) = if is_category {
        (CATEGORY_FILE, format!("{}/{CATEGORY_FILE}", action.path))
    } else {
        ("the file", action.path.clone())
    };
    format!(
        "{name} may have gone back to the committed version, {cause}: no commit that kbsync found has the newest version. \
         `kbsync restore {}` brings the newest version back, and so do `git stash pop` and `git pull` if it is in a stash or \
         on the remote; `kbsync approve` sends the file as it is",
        quoted(&path)
    )
}

/// Returns the slug on the service, if an action changes the public address.
fn sent_address(action: &Action) -> Option<&str> {
    if let Step::SettleCategory(settle) = &action.step {
        let is_moved = settle.send.contains(&Field::Slug);
        return is_moved.then_some(&settle.seen.slug);
    }
    let settle = action.as_settle()?;
    settle.sends_address().then_some(&settle.seen.version.slug)
}
