//! Jobs and their outcomes, the port behind which cycles run, and the request that a job makes to the engine of one
//! workspace: paths below the mirror become paths below the workspace's folder.

use super::{
    control::Refusal,
    debounce::{DuePaths, Touch, folders_above},
    git::{Head, Known, Remembered},
    outage::Outage,
    settings_mark::SettingsMark,
};
use crate::config::{Options, PublishedBranch};
use crate::engine::settings::{Cause, CycleRequest, Look, PathsInMotion};
use crate::engine::{
    report::{BudgetLeft, Report},
    restore,
};
use crate::model::{ArticleId, Digest, Side};
use crate::reconcile::snapshot::{Decision, Direction, OnConflict};
use crate::service::Purpose;
pub use crate::web::shared_status::OpenItems;
use std::{
    collections::{BTreeMap, BTreeSet},
    future::Future,
};

/// Why a cycle runs. Of several full cycles that wait, the first in this order runs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Trigger {
    /// The daemon was started.
    Startup,
    /// Files were touched.
    Watch,
    /// A person or a signal asked for it.
    Manual,
    /// A poll is due.
    Poll,
    /// It is unknown which files were touched.
    Rescan,
}

impl Trigger {
    /// The name in logs and metrics.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Watch => "watch",
            Self::Poll => "poll",
            Self::Manual => "manual",
            Self::Rescan => "rescan",
        }
    }
}

/// The part of the mirror and of the workspace that a cycle looks at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Scope {
    /// The whole mirror and the whole workspace: fetches the listing once.
    Everything,
    /// These paths and their articles.
    Paths(DuePaths),
    /// The paths and options of a command.
    Command(CycleCommand),
}

/// A cycle to run.
#[derive(Clone, PartialEq, Debug)]
pub struct Job {
    /// Why it runs.
    pub trigger: Trigger,
    /// The part that the cycle looks at.
    pub scope: Scope,
    /// Paths in motion, and removed paths in their grace time: their state counts as unknown in a full cycle. See
    /// [`request_for`] for a cycle over paths.
    pub in_motion: BTreeSet<String>,
    /// Removed paths whose grace time is over; in a full cycle only.
    pub removed: BTreeSet<String>,
    /// The repositories around the mirror when the cycle began.
    pub git: Vec<Known>,
}

impl Job {
    /// Makes a job without paths in motion.
    pub fn new(trigger: Trigger, scope: Scope, git: Vec<Known>) -> Self {
        Self {
            trigger,
            scope,
            in_motion: BTreeSet::new(),
            removed: BTreeSet::new(),
            git,
        }
    }

    /// Returns the share of the budget to use. A start and a rescan may spend the reserve: changed files without an event
    /// are to be pushed. After a failure, both are retried as polls. A lack of budget is no outage for a poll, because it
    /// may wait for the next day.
    pub fn purpose(&self) -> Purpose {
        match (&self.scope, self.trigger) {
            (Scope::Everything, Trigger::Watch | Trigger::Manual | Trigger::Poll) => Purpose::Poll,
            (Scope::Everything, Trigger::Startup | Trigger::Rescan)
            | (Scope::Paths(_) | Scope::Command(_), _) => Purpose::Push,
        }
    }

    /// Returns whether the job concerns the workspace with this prefix.
    pub fn concerns(&self, prefix: &str) -> bool {
        request_for(self, prefix).is_some()
    }

    /// Returns the new facts about git for the states, by prefix: the published branch, after a complete cycle, and a
    /// HEAD that moved, if both sides agree on removals after this job. An agreement needs a cycle that could push every
    /// removal. A cycle over paths counts: the work queue checks that nothing else waits.
    pub fn to_remember(&self, outcome: &CycleOutcome) -> BTreeMap<String, Remembered> {
        let covers_all_removals = match &self.scope {
            Scope::Everything | Scope::Paths(_) => true,
            Scope::Command(command) => {
                command.direction.pushes() && command.scope.is_empty() && !command.dry_run
            }
        };
        let heads_agree = covers_all_removals
            // The report of a partial cycle does not show all held removals.
            && outcome.open_items.held_deletions == 0
            && outcome.failures.is_empty()
            && outcome.report.settled_removals();
        let facts = self.git.iter().map(|known| {
            let is_new = |head: &Head| heads_agree && known.agreed.as_ref() != Some(head);
            let what = Remembered {
                head: known.state.head.clone().filter(is_new),
                branch: known.first.clone().filter(|_| outcome.is_complete()),
            };
            (known.prefix.clone(), what)
        });
        let is_known = |what: &Remembered| *what != Remembered::default();
        facts.filter(|(_, what)| is_known(what)).collect()
    }
}

/// A command's instructions for one cycle: the flags of `sync`, `pull`, `push`, `resolve`, `restore` and
/// `approve`.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CycleCommand {
    /// The direction of changes.
    pub direction: Direction,
    /// Paths relative to the mirror; empty: all.
    #[serde(default)]
    pub scope: Vec<String>,
    /// Only plan.
    #[serde(default)]
    pub dry_run: bool,
    /// Let deletions pass the guards.
    #[serde(default)]
    pub allow_deletes: bool,
    /// Create the new categories of a first sync without a question.
    #[serde(default)]
    pub new_categories: bool,
    /// The side that wins conflicts.
    #[serde(default)]
    pub prefer: Option<OnConflict>,
    /// Conflicts that a person resolved.
    #[serde(default)]
    pub resolve: BTreeMap<ArticleId, Decision>,
    /// Actions that a person approved. The approvals are stored before the cycle.
    #[serde(default)]
    pub approve: Vec<Approval>,
    /// Versions to restore before the cycle, in the workspace that the scope names.
    #[serde(default)]
    pub restore: Vec<restore::RestoreRequest>,
    /// The settings of the client; a daemon with other settings refuses the command. `None`: any settings will do.
    #[serde(default)]
    pub settings: Option<SettingsMark>,
}

/// A held action that a person approved.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    /// The prefix of the workspace's paths.
    pub workspace: String,
    /// The side that the action changes.
    pub side: Side,
    /// The action's fingerprint.
    pub mark: Digest,
}

impl Scope {
    /// Returns whether the cycle does what a poll does.
    pub fn is_poll(&self) -> bool {
        match self {
            Self::Everything => true,
            Self::Command(command) => command.is_whole(),
            Self::Paths(_) => false,
        }
    }
}

impl CycleCommand {
    /// Makes the command for a cycle over everything.
    pub fn new(direction: Direction) -> Self {
        Self {
            direction,
            ..Self::default()
        }
    }

    /// Returns whether the command does what a poll does.
    pub fn is_whole(&self) -> bool {
        self.direction == Direction::Both && self.scope.is_empty() && !self.dry_run
    }
}

/// The outcome of a cycle.
#[derive(Clone, PartialEq, Debug)]
pub struct CycleOutcome {
    /// The report.
    pub report: Report,
    /// The failures of workspaces; then the failure that stopped the cycle, if any.
    pub failures: Vec<Refusal>,
    /// The outage that stopped the cycle.
    pub outage: Option<Outage>,
    /// The open items after the cycle.
    pub open_items: OpenItems,
}

impl CycleOutcome {
    /// Returns whether the cycle ran to its end in every workspace.
    pub fn is_complete(&self) -> bool {
        self.failures.is_empty() && self.report.is_complete()
    }
}

/// Runs cycles, one at a time: the engines in the daemon, a fake in tests.
pub trait CycleRunner {
    /// Runs a cycle. Failures are part of the outcome.
    fn run(&mut self, job: &Job) -> impl Future<Output = CycleOutcome>;

    /// Returns why a command is refused, if its client has other settings.
    fn refusal(&self, command: &CycleCommand) -> Option<Refusal>;

    /// Removes the paths that need no cycle because their files equal the state, as after kbsync's own writes (failures
    /// row 79).
    fn drop_unchanged(&mut self, due: DuePaths) -> DuePaths;

    /// Returns whether every file is as recorded in the state, and nothing waits: a rescan then needs no cycle.
    /// Returns false if that is unknown.
    fn is_as_recorded(&mut self) -> bool;

    /// Returns the rest of the budget.
    fn budget_left(&self) -> BudgetLeft;

    /// Looks at the repositories around the workspaces' folders.
    fn repositories(&self, setting: &PublishedBranch) -> Vec<Known>;

    /// Stores the record of git for the workspace with this prefix.
    fn remember(&mut self, prefix: &str, what: &Remembered);

    /// Returns why the daemon has lost its mirror, if the lock or the state was removed or replaced.
    fn lost_mirror(&self) -> Option<String>;

    /// Reads the settings again. An error changes nothing.
    fn reload(&mut self) -> Result<Options, String>;
}

/// Returns the request for one workspace; `None`: the job does not concern it. A cycle over due paths sees paths in
/// motion as well, to recognise moves, except those below a due folder.
pub fn request_for(job: &Job, prefix: &str) -> Option<CycleRequest> {
    let background = CycleRequest {
        cause: Cause::Background,
        ..CycleRequest::new(Direction::Both)
    };
    Some(match &job.scope {
        Scope::Everything => CycleRequest {
            purpose: job.purpose(),
            in_motion: PathsInMotion {
                paths: below(job.in_motion.iter(), prefix).collect(),
                has_grace: true,
                removed: below(job.removed.iter(), prefix).collect(),
            },
            ..background
        },
        Scope::Paths(due) => CycleRequest {
            in_motion: PathsInMotion {
                paths: below(in_motion_at(job, due), prefix).collect(),
                has_grace: true,
                removed: below(removed(due), prefix).collect(),
            },
            scope: scope(due.keys(), prefix)?,
            look: match below(removed(due), prefix).next() {
                None => Look::Files,
                Some(_) => Look::Whole,
            },
            ..background
        },
        Scope::Command(command) => from_command(command, prefix)?,
    })
}

/// Returns the paths below a workspace's folder, relative to it.
fn below<'p>(
    paths: impl Iterator<Item = &'p String>,
    prefix: &str,
) -> impl Iterator<Item = String> {
    paths.filter_map(move |path| path.strip_prefix(prefix).map(str::to_owned))
}

fn from_command(command: &CycleCommand, prefix: &str) -> Option<CycleRequest> {
    let mut paths = Vec::new();
    if !command.scope.is_empty() {
        paths = scope(command.scope.iter(), prefix)?;
        // The workspace's folder itself was named.
        if paths.iter().any(|path| path == ".") {
            paths.clear();
        }
    }
    Some(CycleRequest {
        scope: paths,
        dry_run: command.dry_run,
        allow_deletes: command.allow_deletes,
        asks_for_categories: !command.new_categories,
        prefer: command.prefer,
        resolve: command.resolve.clone(),
        ..CycleRequest::new(command.direction)
    })
}

/// Returns the paths below a workspace's folder; `None`: there are none.
fn scope<'p>(paths: impl Iterator<Item = &'p String>, prefix: &str) -> Option<Vec<String>> {
    let folder = prefix.trim_end_matches('/');
    let found: Vec<String> = paths
        .filter_map(|path| {
            if !folder.is_empty() && path.trim_end_matches('/') == folder {
                return Some(".".to_owned());
            }
            path.strip_prefix(prefix).map(str::to_owned)
        })
        .collect();
    (!found.is_empty()).then_some(found)
}

/// Returns the paths in motion that a cycle over due paths leaves alone: files below a due folder, which may be written
/// at this moment.
fn in_motion_at<'j>(job: &'j Job, due: &DuePaths) -> impl Iterator<Item = &'j String> {
    let paths = job.in_motion.iter();
    paths.filter(|path| folders_above(path).any(|folder| due.contains_key(folder)))
}

/// Returns the removed ones of due paths.
pub(super) fn removed(due: &DuePaths) -> impl Iterator<Item = &String> {
    let removed = due.iter().filter(|(_, touch)| **touch == Touch::Removed);
    removed.map(|(path, _)| path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f113_only_polls_leave_the_reserve_to_others() {
        for (trigger, purpose) in [
            (Trigger::Poll, Purpose::Poll),
            (Trigger::Startup, Purpose::Push),
            (Trigger::Rescan, Purpose::Push),
        ] {
            let job = Job::new(trigger, Scope::Everything, Vec::new());
            let request = request_for(&job, "").expect("it concerns the workspace");
            assert_eq!(request.purpose, purpose);
        }
    }
}
