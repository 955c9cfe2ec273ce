//! What the loop asks for and what it gets back: plain values, and the port behind which cycles run.

use super::{
    control::Refusal,
    debounce::DuePaths,
    git::{Head, Known, Remembered},
    outage::Outage,
    settings::Settings,
};
use crate::engine::{
    report::{BudgetLeft, Ending, Report},
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
    /// It is time to ask the service.
    Poll,
    /// A person or a signal said so.
    Manual,
    /// It is not known what was touched.
    Rescan,
}

impl Trigger {
    /// The word for it, in logs and metrics.
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

/// How far a cycle looks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Scope {
    /// At the whole mirror and the whole workspace: lists once.
    Everything,
    /// At the whole mirror, and at the articles that changed in it.
    Mirror,
    /// At these paths and their articles.
    Paths(DuePaths),
    /// At what a command says.
    Command(CycleCommand),
}

/// A cycle to be run.
#[derive(Clone, PartialEq, Debug)]
pub struct Job {
    /// Why.
    pub trigger: Trigger,
    /// How far it looks.
    pub scope: Scope,
    /// Paths whose files are in motion or gone for too short a time: present and unknown in this cycle.
    pub unsettled: BTreeSet<String>,
    /// Why no removal may be pushed because of git, if so.
    pub git_hold: Option<String>,
    /// The repositories around the mirror, as of when the cycle began.
    pub git: Vec<Known>,
}

/// What a command asks the daemon to do in one cycle: the flags of `sync`, `pull`, `push`, `resolve`
/// and `restore`.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CycleCommand {
    /// Which way changes may go.
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
    /// Create the new categories of a first sync unasked.
    #[serde(default)]
    pub new_categories: bool,
    /// The side that wins conflicts.
    #[serde(default)]
    pub prefer: Option<WireSide>,
    /// Conflicts that a person settled.
    #[serde(default)]
    pub resolve: BTreeMap<ArticleId, WireKeep>,
    /// What a person released, to be remembered before the cycle.
    #[serde(default)]
    pub approve: Vec<Release>,
    /// Versions to be brought back before the cycle, in the workspace that the scope names.
    #[serde(default)]
    pub restore: Vec<restore::Wish>,
}

/// A held action that a person released.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// The side that it changes.
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

/// [`Keep`] on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WireKeep {
    /// The file.
    Local,
    /// The service's version.
    Remote,
    /// One after the other.
    Both,
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
    /// A whole cycle in a direction.
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

    /// Returns whether it does what a poll does.
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

impl From<Keep> for WireKeep {
    fn from(keep: Keep) -> Self {
        match keep {
            Keep::Local => Self::Local,
            Keep::Remote => Self::Remote,
            Keep::Both => Self::Both,
        }
    }
}

impl From<WireKeep> for Keep {
    fn from(keep: WireKeep) -> Self {
        match keep {
            WireKeep::Local => Self::Local,
            WireKeep::Remote => Self::Remote,
            WireKeep::Both => Self::Both,
        }
    }
}

/// What waits for a person or for recovery.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OpenItems {
    /// Conflicts.
    pub conflicts: usize,
    /// Deletions that are held.
    pub held_deletions: usize,
    /// Steps whose outcome is not known.
    pub intents: usize,
}

/// What a cycle came to.
#[derive(Clone, PartialEq, Debug)]
pub struct CycleOutcome {
    /// Its report.
    pub report: Report,
    /// What stopped it as a whole, if something did.
    pub outage: Option<Outage>,
    /// What is left open.
    pub open_items: OpenItems,
    /// Why what a command wished for cannot be, if so: then nothing was done.
    pub refused: Option<Refusal>,
}

impl CycleOutcome {
    /// Returns whether it came to its end. One that the service or the budget put off, or that could not be
    /// carried out, saw only a part, even where that closes the way to nobody else.
    pub fn is_complete(&self) -> bool {
        self.outage.is_none()
            && self.report.stopped.is_none()
            && self.report.outcome != Ending::Failed
    }
}

/// Runs cycles, one at a time: the engines in the daemon, a stand-in in tests.
pub trait CycleRunner {
    /// Runs one. It does not fail: what goes wrong is in what it comes to.
    fn run(&mut self, job: &Job) -> impl Future<Output = CycleOutcome>;

    /// Leaves out the paths that need no cycle: those whose files are what the state says, as after our
    /// own writes (failures row 79).
    fn drop_unchanged(&mut self, due: DuePaths) -> DuePaths;

    /// Returns whether no file is anything but what the state says, and nothing waits: then a doubt about the
    /// files needs no cycle. What cannot be looked at is not as it should be.
    fn is_as_recorded(&mut self) -> bool;

    /// What is left of the budget.
    fn budget_left(&self) -> BudgetLeft;

    /// Remembers, across restarts, where git's HEAD was when both sides last agreed on what is removed, for the
    /// workspace whose paths begin like this.
    fn remember_head(&mut self, prefix: &str, head: &Head);

    /// Remembers the published branch in the same way.
    fn remember_branch(&mut self, prefix: &str, branch: &str);

    /// Returns what was remembered.
    fn remembered(&self, prefix: &str) -> Remembered;

    /// Files that went while no daemon ran, but for those that wait for a person already.
    fn missing_files(&mut self) -> Vec<String>;

    /// Why the mirror is not this daemon's any more, if so: its lock or its state was removed or replaced.
    fn lost_mirror(&self) -> Option<String>;

    /// Looks a last time at what was replaced while a program had it open, before the daemon ends.
    fn close(&mut self);

    /// Reads the settings again; what cannot be used is told and changes nothing.
    fn reload(&mut self) -> Result<Settings, String>;
}
