//! Holds the files that git reset to the committed version (design, section 6).
//!
//! The engine asks git and finds these files. A held file is neither sent nor overwritten, and makes no conflict. Nothing is
//! stored: the hold ends when the file or the commit changes.

use super::guard::{Facts, MAX_ROLLBACKS};
use super::plan::{HoldRule, Plan, Step};
use crate::model::path::quoted;

/// The reasons why a file with an older version is no edit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Behind {
    /// The file has the committed content, and the newer content was not committed.
    Committed,
    /// Git cannot say, for this reason.
    Unknown(String),
}

/// Holds every action for an article whose file is behind, except approved actions.
pub(super) fn hold_behind(plan: &mut Plan, facts: &Facts) {
    let many = facts.behind.len() > MAX_ROLLBACKS;
    for action in &mut plan.actions {
        let Some(behind) = action.id.and_then(|id| facts.behind.get(&id)) else {
            continue;
        };
        if facts.approved.contains(&action.fingerprint()) {
            continue;
        }
        // With the same reason for all files, the daemon logs one line.
        let path = if many {
            "PATH".to_owned()
        } else {
            quoted(&action.path).into_owned()
        };
        let ways = format!(
            "`kbsync restore {path}` brings the newer text back, `kbsync approve` sends the old text"
        );
        let reason = match behind {
            Behind::Committed => format!(
                "the file went back to the committed version (git stash, git checkout?), and the newer text was not \
                 committed; {ways}"
            ),
            Behind::Unknown(why) => {
                format!(
                    "the file went back to an older version, and git may have done it ({why}); {ways}"
                )
            }
        };
        if let Step::Conflict(conflict) = &mut action.step {
            // A conflict that was shown before stays a conflict.
            if !conflict.fresh {
                continue;
            }
            conflict.fresh = false;
            action.held = None;
        }
        action.hold(HoldRule::Behind, reason);
    }
}
