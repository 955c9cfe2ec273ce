//! The guards: checks that hold a mistake before it has an effect.
//!
//! Guards only ever hold. A release (an approval, a flag) is passed to them as a fact. They read no clock: the caller
//! counts recent events.

use super::deletions::{Deletions, hold_deletions};
use super::plan::{Action, HoldRule, Kind, Plan, Settle, Step};
use crate::model::base::Parked;
use crate::model::path::quoted;
use crate::model::{ArticleId, Digest, Side};
use std::collections::{BTreeMap, BTreeSet};

pub use crate::model::limits::MaxDeletes;

/// The number of articles on one side that may go back to older versions: files within an hour, since an archive that
/// is unpacked over the mirror arrives in small batches; articles of the service within one cycle.
pub const MAX_ROLLBACKS: usize = 10;

/// The facts that the guards need besides the plan. The default is a workspace without any history.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Facts {
    /// The limit on deletions, and the earlier deletions that count against it.
    pub deletions: Deletions,
    /// The fingerprints of approved actions.
    pub approved: BTreeSet<Digest>,
    /// Why nothing may be deleted in this cycle; `None`: nothing failed.
    pub doubt: Option<String>,
    /// Articles that went back to older versions.
    pub rollbacks: Rollbacks,
    /// Articles that change back and forth between kbsync and another writer.
    pub duels: BTreeSet<ArticleId>,
    /// The actions that the service refused or that wait for a person, by key.
    pub parked: BTreeMap<String, Parked>,
    /// The changes that git made to files.
    pub git: ByGit,
    /// Articles whose files a restore failed to write.
    pub restoring: BTreeSet<ArticleId>,
    /// The files in other workspaces' folders whose articles would be deleted.
    pub elsewhere: Elsewhere,
    /// Rules and articles of actions that were held for their number, because the file moved to another workspace, or
    /// because the state is of another folder, and still wait for a person: undoing some of the changes does not
    /// release the rest.
    pub still_held: BTreeSet<(HoldRule, ArticleId)>,
    /// Whether a person approves each new category.
    pub asks_for_categories: bool,
    /// Files that would be sent, and folders that would become categories, which the ignore rules of the last cycle
    /// left out.
    pub unhidden: BTreeSet<String>,
}

/// Articles that went back to older versions.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rollbacks {
    /// Articles whose file equals an older version.
    pub local: BTreeSet<ArticleId>,
    /// The number of other articles whose older file was sent within the last hour.
    pub recent_local: usize,
    /// Articles whose version on the service equals an older version.
    pub remote: BTreeSet<ArticleId>,
}

/// The changes that git made to files.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ByGit {
    /// The actions, by fingerprint, whose files git reset, with the reason for people.
    pub behind: BTreeMap<Digest, String>,
    /// Articles whose files git may have removed, with the reason for people.
    pub removed: BTreeMap<ArticleId, String>,
}

/// Files in other workspaces' folders whose articles have no file in their own folder.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Elsewhere {
    /// The paths of the files in the mirror.
    pub at: BTreeMap<ArticleId, String>,
    /// The first unreadable file: it may be any article's.
    pub unread: Option<String>,
}

impl Facts {
    /// Returns whether this rule held an action on the article before, and no person has released this one since. The
    /// side does not count: after a colleague's edit, the action may be a merge that changes both sides.
    pub(super) fn is_still_held(&self, rule: HoldRule, action: &Action) -> bool {
        let held = |id| self.still_held.contains(&(rule, id));
        action.id.is_some_and(held) && !self.approves(action)
    }

    /// Returns whether a person approved an action. Without approvals, no action needs a fingerprint.
    fn approves(&self, action: &Action) -> bool {
        !self.approved.is_empty() && self.approved.contains(&action.fingerprint())
    }
}

/// A rule about one action, independent of the other actions; `None`: the rule does not hold it.
type Rule = fn(&Action, &Facts) -> Option<(HoldRule, String)>;

/// The rules about single actions; the first that applies holds the action.
const RULES: [Rule; 5] = [parked, duel, unhidden, new_category, unasked_deletion];

/// Applies all guards to a plan.
pub fn hold(plan: &mut Plan, facts: &Facts) {
    hold_behind(plan, facts);
    for action in &mut plan.actions {
        let approved = facts.approves(action);
        let mut rules = RULES.iter().filter_map(|rule| rule(action, facts));
        if let Some((rule, reason)) = rules.find(|(rule, _)| !(approved && rule.approvable())) {
            action.hold(rule, reason);
        }
    }
    for side in [Side::Remote, Side::Local] {
        hold_rollbacks(plan, facts, side);
        hold_deletions(plan, facts, side);
    }
}

/// Holds restores in a cycle with an incomplete observation: a file that seems removed may be in an unreadable folder,
/// and restoring it would duplicate it.
pub fn hold_restores(plan: &mut Plan, doubt: &str) {
    let restores = |action: &&mut Action| action.kind == Kind::Restore && action.held.is_none();
    for action in plan.actions.iter_mut().filter(restores) {
        let reason = format!("nothing is brought back in a cycle in which {doubt}");
        action.hold(HoldRule::Doubt, reason);
    }
}

/// Holds the files that git reset to the committed version, or may have reset, and edits of that version, unless the
/// action is approved. A held file is neither sent nor overwritten, and causes no conflict.
fn hold_behind(plan: &mut Plan, facts: &Facts) {
    if facts.git.behind.is_empty() {
        return;
    }
    for action in &mut plan.actions {
        let fingerprint = action.fingerprint();
        let Some(reason) = facts.git.behind.get(&fingerprint) else {
            continue;
        };
        if facts.approved.contains(&fingerprint) {
            continue;
        }
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

/// Why the rest of many held actions stays held, although few are left by now.
pub(super) const STILL_HELD: &str =
    "it was held with others, and still waits for you; `kbsync approve` shows and releases it";

/// Returns the sentence about an action that is not sent again for now.
pub fn not_again(why: &str) -> String {
    format!("{why}; kbsync tries again when either side changes, or after a day")
}

fn parked(action: &Action, facts: &Facts) -> Option<(HoldRule, String)> {
    let parked = facts.parked.get(&action.key());
    let parked = parked.filter(|parked| parked.fingerprint == action.fingerprint())?;
    Some(if parked.is_for_person {
        (HoldRule::Person, parked.reason.clone())
    } else {
        let reason = not_again(&format!("refused before ({})", parked.reason));
        (HoldRule::Refused, reason)
    })
}

/// Holds a file that the ignore rules left out until now: the rules may be half saved, and a private file would be
/// published. A second look decides.
fn unhidden(action: &Action, facts: &Facts) -> Option<(HoldRule, String)> {
    let reason =
        "`.kbsyncignore` left it out until now; it is sent when a second look finds the same rules";
    let is_new = facts.unhidden.contains(&action.path);
    is_new.then(|| (HoldRule::Doubt, reason.to_owned()))
}

/// Holds a new category if its name looks like a typing error, and at the first sync of a state, because the folder may
/// then be unrelated to the knowledge base: the API cannot delete a category, so kbsync does not create a category on a
/// guess. The articles of the category are held with it.
fn new_category(action: &Action, facts: &Facts) -> Option<(HoldRule, String)> {
    let Step::CreateCategory { folder, near, .. } = &action.step else {
        return None;
    };
    let cause = format!("{folder}/ would be a new category, and the API cannot delete categories");
    if let Some(near) = near {
        let reason = format!(
            "{cause}; if you meant the category {near}, move the files to its folder; `kbsync approve` creates {folder}"
        );
        return Some((HoldRule::NearCategory, reason));
    }
    let reason = format!(
        "{cause}; `kbsync approve` creates it, `kbsync sync --yes` creates every category held for this reason"
    );
    facts
        .asks_for_categories
        .then_some((HoldRule::NewCategory, reason))
}

fn duel(action: &Action, facts: &Facts) -> Option<(HoldRule, String)> {
    let holds = facts.duels.contains(&action.id?) && action.sends();
    let reason = "this article goes back and forth between this mirror and another writer; does another tool or machine \
                  sync the article? kbsync sends the file again when the file or the article gets new content";
    holds.then(|| (HoldRule::ForeignWriter, reason.to_owned()))
}

/// Holds actions that take one side back to older versions, if there are many, and the rest of such actions.
///
/// A few files may go back without approval, as after a stash or a checkout. The report mentions them, because somebody
/// may miss the newer text.
fn hold_rollbacks(plan: &mut Plan, facts: &Facts, side: Side) {
    let rule = HoldRule::MassRollback;
    let sent = side == Side::Remote;
    let (older, recent) = if sent {
        (&facts.rollbacks.local, facts.rollbacks.recent_local)
    } else {
        (&facts.rollbacks.remote, 0)
    };
    let reaches = |settle: &Settle| {
        if sent {
            settle.sends()
        } else {
            settle.touches_file()
        }
    };
    let actions = plan.actions.iter_mut();
    let concerned = actions.filter(|action| {
        action.held.is_none()
            && action.as_settle().is_some_and(reaches)
            && !matches!(action.kind, Kind::Create | Kind::Adopt)
            && action.id.is_some_and(|id| older.contains(&id))
    });
    let concerned: Vec<_> = concerned.collect();
    let all = concerned.iter().map(|action| action.fingerprint());
    let approved = facts.approved.is_superset(&all.collect());
    let count = concerned.len() + recent;
    for action in concerned {
        if count > MAX_ROLLBACKS && !approved {
            let reason = format!(
                "{count} files or articles went back to older versions within an hour, as after an old checkout or a restored \
                 backup; `kbsync approve` shows and releases them, `kbsync restore PATH` brings the newer text of a file back"
            );
            action.hold(rule, reason);
        } else if facts.is_still_held(rule, action) {
            action.hold(rule, STILL_HELD);
        } else if sent && action.note.is_none() {
            let note = "the file went back to an older version; `kbsync log` has the one that this replaces";
            action.note = Some(note.to_owned());
        }
    }
}

/// Holds a deletion that no person may have asked for, each by itself, independent of the other deletions.
fn unasked_deletion(action: &Action, facts: &Facts) -> Option<(HoldRule, String)> {
    let (side, id) = (action.deletes()?, action.id?);
    let is_remote = side == Side::Remote;
    // A missing file that a restore was about to write was not removed by a person.
    if is_remote && facts.restoring.contains(&id) {
        let reason = format!(
            "the restore of its file was interrupted or failed: run the restore again, or \
             `kbsync restore {}`; `kbsync approve` deletes the article",
            quoted(&action.path)
        );
        return Some((HoldRule::Unrestored, reason));
    }
    if facts.deletions.allowed {
        return None;
    }
    if is_remote && let Some(held) = moved_out(action, id, facts) {
        return Some(held);
    }
    // If the state was made for another folder, an article without a file may never have had a file in this mirror.
    // This comes before the removals by git: after this cycle, the state is bound to its mirror.
    let rule = HoldRule::ForeignState;
    if facts.deletions.inventory.from_elsewhere || facts.is_still_held(rule, action) {
        let ways = if is_remote {
            "`kbsync restore FOLDER` brings a folder's files back, `kbsync approve` deletes the articles"
        } else {
            "`kbsync approve` removes the files"
        };
        let reason = format!(
            "the state was made for another folder, or its record in KBSYNC_USER_STATE_DIR is missing, so its deletions are \
             held; {ways}"
        );
        return Some((rule, reason));
    }
    // A file that git removed does not show that a person wants the article deleted. In doubt nothing is deleted
    // anyway, and the doubt is the better reason.
    let by_git = facts.git.removed.get(&id);
    let by_git = by_git.filter(|_| is_remote && facts.doubt.is_none());
    by_git.map(|why| (HoldRule::MovedHead, why.clone()))
}

/// A file that was moved into another workspace's folder is not gone, and an article cannot be moved there.
fn moved_out(action: &Action, id: ArticleId, facts: &Facts) -> Option<(HoldRule, String)> {
    let Elsewhere { at, unread } = &facts.elsewhere;
    let rule = HoldRule::Elsewhere;
    if let Some(path) = at.get(&id) {
        let reason = format!(
            "its file is {path} now, in another workspace's folder, and no article can move there: move the file \
             back; or remove its `id:` line to make a new article there, and `kbsync approve` deletes the old article"
        );
        return Some((rule, reason));
    }
    // A file that was just saved, or that lost its `id:` line, proves nothing about this article.
    let (rule, what, remedy) = if facts.is_still_held(rule, action) {
        let what = "its file was moved into another workspace's folder".to_owned();
        (rule, what, "move the file back")
    } else {
        let path = unread.as_ref()?;
        let what =
            format!("its file may be in another workspace's folder, and {path} cannot be read");
        (HoldRule::Unfound, what, "make that path readable")
    };
    let reason = format!("{what}: {remedy}; `kbsync approve` deletes the article");
    Some((rule, reason))
}
