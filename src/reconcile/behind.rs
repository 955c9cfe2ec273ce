//! Holds the files that git took back to the committed version (design, section 6).
//!
//! Which files these are is found out by the engine, that asks git. A held file is neither sent nor overwritten, and no
//! conflict is made of it. Nothing is remembered: the hold ends when the file or the commit changes.

use super::guard::{Facts, MAX_ROLLBACKS};
use super::plan::{HoldRule, Plan, Step};
use crate::model::path::quoted;

/// Why a file that went back to an older version is not taken for an edit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Behind {
    /// It holds what git has committed, and the newer words were not committed.
    Committed,
    /// Whether that is so cannot be told, for this reason.
    Unknown(String),
}

/// Holds every action for an article whose file is behind, but what a person released.
pub(super) fn hold_behind(plan: &mut Plan, facts: &Facts) {
    let many = facts.behind.len() > MAX_ROLLBACKS;
    for action in &mut plan.actions {
        let Some(behind) = action.id.and_then(|id| facts.behind.get(&id)) else {
            continue;
        };
        if facts.approved.contains(&action.fingerprint()) {
            continue;
        }
        // One reason for all is one line in the daemon's log.
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
            // One that was shown before stays what it is.
            if !conflict.fresh {
                continue;
            }
            conflict.fresh = false;
            action.held = None;
        }
        action.hold(HoldRule::Behind, reason);
    }
}
