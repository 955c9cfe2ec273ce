//! The values that the loop and the cycles exchange, and the port behind which cycles run.

use super::{
    control::Refusal,
    debounce::DuePaths,
    git::{Head, Known, Remembered},
    outage::Outage,
    settings::Settings,
};
use crate::engine::{
    report::{BudgetLeft, Report},
    restore,
};
use crate::model::{ArticleId, Digest, Side};
use crate::reconcile::snapshot::{Direction, Keep, OnConflict};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    future::Future,
};

/// Why a cycle runs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Trigger {
    /// The daemon was started.
    Startup,
    /// Files were touched.
    Watch,
    /// A poll is due.
    Poll,
    /// A person or a signal asked for it.
    Manual,
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

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// What a cycle looks at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Scope {
    /// The whole mirror and the whole workspace: fetches the listing once.
    Everything,
    /// The whole mirror, and the articles whose files changed.
    Mirror,
    /// These paths and their articles.
    Paths(DuePaths),
    /// What a command names.
    Command(CycleCommand),
}

/// A cycle to run.
#[derive(Clone, PartialEq, Debug)]
pub struct Job {
    /// Why it runs.
    pub trigger: Trigger,
    /// What it looks at.
    pub scope: Scope,
    /// Paths in motion, and removed paths in their grace time: unknown in this cycle.
    pub in_motion: BTreeSet<String>,
    /// Why all removals are held because of git.
    pub git_hold: Option<String>,
    /// The repositories around the mirror when the cycle began.
    pub git: Vec<Known>,
}

/// What a command asks the daemon to do in one cycle: the flags of `sync`, `pull`, `push`, `resolve`
/// and `restore`.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CycleCommand {
    /// The direction of changes.
    pub direction: WireDirection,
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
    pub prefer: Option<WireSide>,
    /// Conflicts that a person resolved.
    #[serde(default)]
    pub resolve: BTreeMap<ArticleId, Keep>,
    /// Actions that a person approved. The approvals are stored before the cycle.
    #[serde(default)]
    pub approve: Vec<Approval>,
    /// Versions to restore before the cycle, in the workspace that the scope names.
    #[serde(default)]
    pub restore: Vec<restore::RestoreRequest>,
}

/// A held action that a person approved.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    /// The side that the action changes.
    pub side: Side,
    /// The action's fingerprint.
    pub mark: Digest,
}

/// [`Direction`] on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WireDirection {
    /// `sync`.
    Both,
    /// `pull`.
    Pull,
    /// `push`.
    Push,
}

/// `--prefer` on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WireSide {
    /// The files win.
    Local,
    /// The service wins.
    Remote,
}

impl Scope {
    /// Returns whether the cycle does what a poll does.
    pub fn is_poll(&self) -> bool {
        match self {
            Self::Everything => true,
            Self::Command(command) => command.is_whole(),
            Self::Mirror | Self::Paths(_) => false,
        }
    }
}

impl CycleCommand {
    /// Makes the command for a cycle over everything.
    pub fn new(direction: Direction) -> Self {
        Self {
            direction: direction.into(),
            scope: Vec::new(),
            dry_run: false,
            allow_deletes: false,
            new_categories: false,
            prefer: None,
            resolve: BTreeMap::new(),
            approve: Vec::new(),
            restore: Vec::new(),
        }
    }

    /// Returns whether the command does what a poll does.
    pub fn is_whole(&self) -> bool {
        self.direction == WireDirection::Both && self.scope.is_empty() && !self.dry_run
    }
}

impl From<Direction> for WireDirection {
    fn from(direction: Direction) -> Self {
        match direction {
            Direction::Both => Self::Both,
            Direction::Pull => Self::Pull,
            Direction::Push => Self::Push,
        }
    }
}

impl From<WireDirection> for Direction {
    fn from(direction: WireDirection) -> Self {
        match direction {
            WireDirection::Both => Self::Both,
            WireDirection::Pull => Self::Pull,
            WireDirection::Push => Self::Push,
        }
    }
}

impl From<WireSide> for OnConflict {
    fn from(side: WireSide) -> Self {
        match side {
            WireSide::Local => Self::Local,
            WireSide::Remote => Self::Remote,
        }
    }
}

/// What waits for a person or for recovery.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OpenItems {
    /// Articles in all, open or not.
    pub articles: usize,
    /// Conflicts.
    pub conflicts: usize,
    /// Held deletions.
    pub held_deletions: usize,
    /// Pending requests.
    pub pending_requests: usize,
}

/// The outcome of a cycle.
#[derive(Clone, PartialEq, Debug)]
pub struct CycleOutcome {
    /// The report.
    pub report: Report,
    /// The outage that stopped the cycle.
    pub outage: Option<Outage>,
    /// The open items after the cycle.
    pub open_items: OpenItems,
    /// Why a command was refused; nothing was done then.
    pub refused: Option<Refusal>,
}

/// Runs cycles, one at a time: the engines in the daemon, a fake in tests.
pub trait CycleRunner {
    /// Runs a cycle. Failures are part of the outcome.
    fn run(&mut self, job: &Job) -> impl Future<Output = CycleOutcome>;

    /// Removes the paths that need no cycle, because their files are as recorded in the state: after kbsync's own
    /// writes (failures row 79).
    fn drop_unchanged(&mut self, due: DuePaths) -> DuePaths;

    /// Returns whether every file is as recorded in the state, and nothing waits: a doubt then needs no cycle.
    /// Returns false if that is unknown.
    fn is_as_recorded(&mut self) -> bool;

    /// Returns the rest of the budget.
    fn budget_left(&self) -> BudgetLeft;

    /// Stores the HEAD of git at which both sides last agreed on removals, for the workspace with this prefix.
    fn remember_head(&mut self, prefix: &str, head: &Head);

    /// Stores the published branch, for the workspace with this prefix.
    fn remember_branch(&mut self, prefix: &str, branch: &str);

    /// Returns what was stored for the workspace with this prefix.
    fn remembered(&self, prefix: &str) -> Remembered;

    /// Returns the files that disappeared while no daemon ran, except those that already wait for a person.
    fn missing_files(&mut self) -> Vec<String>;

    /// Returns why the daemon has lost its mirror, if the lock or the state was removed or replaced.
    fn lost_mirror(&self) -> Option<String>;

    /// Reads the settings again. An error changes nothing.
    fn reload(&mut self) -> Result<Settings, String>;
}
