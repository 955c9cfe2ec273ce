//! Holds the files that git reset to the committed version.
//!
//! The engine asks git and finds these files. A held file is neither sent nor overwritten, and makes no conflict.
//! Nothing is stored: the hold ends when the file or the commit changes.

use super::guard::{Facts, MAX_ROLLBACKS};
use super::plan::{Action, HoldRule, Plan, Step};
use crate::model::path::{CATEGORY_FILE, quoted};

/// A file with the committed content, whose newer content was not committed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Behind {
    /// Why git gave no answer; `None`: git confirmed the reset.
    pub doubt: Option<String>,
    /// Whether the article is in conflict: `approve` does not apply.
    pub in_conflict: bool,
    /// The present place of the article or category whose old file git brought back; `None`: the action creates no
    /// duplicate.
    pub duplicate_of: Option<String>,
}

/// Holds every action for a file that is behind, except approved actions.
pub(super) fn hold_behind(plan: &mut Plan, facts: &Facts) {
    if facts.git.behind.is_empty() {
        return;
    }
    // Many files get one reason with PATH in it, so that the daemon logs one line.
    let many = facts.git.behind.len() > MAX_ROLLBACKS;
    for action in &mut plan.actions {
        let fingerprint = action.fingerprint();
        let Some(behind) = facts.git.behind.get(&fingerprint) else {
            continue;
        };
        if facts.approved.contains(&fingerprint) {
            continue;
        }
        let reason = reason(action, behind, many);
        if let Step::Conflict(conflict) = &mut action.step {
            // A conflict that was shown before stays a conflict.
            if !conflict.fresh {
                continue;
            }
            // The planned copy is not written.
            conflict.fresh = false;
            action.held = None;
        }
        action.hold(HoldRule::Behind, reason);
    }
}

/// The reason of a hold, with the way on that always works first.
fn reason(action: &Action, behind: &Behind, many: bool) -> String {
    if let Some(elsewhere) = &behind.duplicate_of {
        return format!(
            "git brought this file back from a commit (git checkout, git stash?), but its article is now at {}: \
             remove this file and commit the move; `kbsync approve` creates a second article from this file instead",
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
    let what = match &behind.doubt {
        None => {
            "the committed version (git stash, git checkout?), which is older than the service's"
                .to_owned()
        }
        Some(why) => format!("an older version, and git may have done it ({why})"),
    };
    let is_conflict = matches!(action.step, Step::Conflict(_));
    let ways = if behind.in_conflict || is_conflict {
        format!(
            "the conflict stays, and the old text is not sent: `git stash pop`, then resolve again; or edit the file; \
             or `kbsync resolve {path} --keep remote`"
        )
    } else {
        format!(
            "`kbsync restore {path}` brings the newer text back; a text in a stash, or one that a pull brings, comes back by \
             `git stash pop` or `git pull`; `kbsync approve` sends the old text"
        )
    };
    format!("{name} went back to {what}; {ways}")
}
